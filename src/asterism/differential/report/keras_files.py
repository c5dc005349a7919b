"""Minimal models as files of Keras' own, beside their graphs.

They are built in a process of their own: this one has not imported Keras, or on some backend.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from asterism.core.messages.console import get_logger
from asterism.core.workers.processes import run_alone
from asterism.differential.engine.worker_environment import variables
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.graphs.store import read_graph, read_weights

log = get_logger(__name__)

#: Importing Keras and building a minimal model stay far below this, on a busy machine too.
_SECONDS = 120.0

GRAPH, MODEL = "model.json", "model.keras"


def write_keras_files(folders: Sequence[Path], weights: Path) -> None:
    """Write ``model.keras`` into each folder that has a ``model.json`` which Keras takes.

    Args:
        folders: of findings, by different names; one whose graph Keras rejects gets none, nor do
            those that are left when a graph makes Keras crash or hang.
        weights: arrays that the graphs name.
    """
    if not folders:
        return
    with tempfile.TemporaryDirectory() as made:  # where a process that dies leaves half a file
        command = [sys.executable, "-P", "-m", "asterism.differential.report.keras_files"]
        command += map(str, (weights, made, *folders))
        environment = {**os.environ, **variables("numpy"), "TMPDIR": made}
        status = run_alone(command, _SECONDS * len(folders), env=environment)
        if status != 0:
            reason = "it hangs" if status is None else f"exit status {status}"
            log.warning("not all minimal models have files of Keras' own", reason=reason)
        for folder in folders:
            with suppress(FileNotFoundError):
                shutil.move(_file(Path(made), folder), folder / MODEL)


def main(weights: Path, target: Path, folders: Sequence[Path]) -> None:
    """Build and write them, each under its folder's name, on the backend that is there soonest."""
    keras = import_keras("numpy")
    from asterism.memo.graphs.keras_build import build
    from asterism.models.keras_models.reading import save_keras

    stored = read_weights(weights)
    for folder in folders:
        keras.backend.clear_session()  # names inside of wrappers are counted in each model anew
        try:
            model = build(read_graph(folder / GRAPH), stored)
        except Exception as error:  # whatever Keras raises where it rejects a graph
            log.warning("Keras rejects a minimal model", folder=folder.name, error=str(error))
        else:
            save_keras(model, _file(target, folder))


def _file(target: Path, folder: Path) -> Path:
    return target / f"{folder.name}{Path(MODEL).suffix}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
