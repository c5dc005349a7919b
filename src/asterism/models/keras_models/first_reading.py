"""A first reading of an HDF5 file in a process of its own.

HDF5 is native code: there are damaged files of which it never comes to an end, or dies. What reads
a file whole once reads it again, so a stage opens only files that a process has read before.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import h5py

from asterism.core.files.limits import opened_zip, read_within
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.core.workers.processes import run_alone
from asterism.models.keras_models.limits import require_plain

#: What Keras calls the weights in a ``.keras`` archive.
WEIGHTS = "model.weights.h5"
#: Seconds that the process may take: a thousand times what large files need.
PATIENCE_S = 60.0


def require_end(path: Path) -> None:
    """Reject a Keras file whose weights HDF5 cannot read to their end.

    Args:
        path: ``.keras``, ``.h5``, ``.hdf5``, or a ``.json`` with weights beside it.

    Raises:
        UserError: the process that read it hung, or died.
    """
    command = [sys.executable, "-P", "-m", __name__, str(path)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    status = run_alone(command, PATIENCE_S, **quiet)
    if status is None:
        raise UserError(f"{path} is damaged: HDF5 takes more than {PATIENCE_S:g} s for it")
    if status < 0:
        raise UserError(f"{path} is damaged: HDF5 crashes on it ({signal.Signals(-status).name})")


def _read_whole(path: Path) -> None:
    """Everything that Keras and this package read of a file, and more."""
    if path.suffix == ".keras":
        with opened_zip(path, "limits.model_mb") as archive:
            content = archive.read(WEIGHTS)
    else:
        weights = path.with_suffix(".h5") if path.suffix == ".json" else path
        content = read_within(weights, "limits.model_mb")
    with h5py.File(io.BytesIO(content)) as file:
        require_plain(file, content, path)
        found: list[h5py.Group | h5py.Dataset] = [file]
        file.visititems(lambda _, part: found.append(part))
        for part in found:
            dict(part.attrs)
            if isinstance(part, h5py.Dataset):
                part[()]


if __name__ == "__main__":
    machine.limit_memory()
    with suppress(Exception):  # the second reading meets it as well, and tells it
        _read_whole(Path(sys.argv[1]))
