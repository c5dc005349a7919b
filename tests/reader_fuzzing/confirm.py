"""What Asterism makes of a file that ended the library's process: opened as the stages open it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from reader_fuzzing.examples import Example
from reader_fuzzing.table import ROOT, Reader
from reader_fuzzing.watch import LIMITS_MB, Verdict

#: Seconds after which a model that hangs is given up here; stages wait longer.
PATIENCE = 10.0

_SCRIPT = """
import sys
from pathlib import Path
from asterism.core.messages.errors import UserError
from reader_fuzzing import table  # which loads the others
from reader_fuzzing.of_models import open_isolated
try:
    open_isolated(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
except UserError as error:
    print(f"rejected: {error}")
else:
    print("value")
"""


def confirmed(reader: Reader, example: Example, died: Verdict, folder: Path) -> Verdict:
    """The verdict on a file that a library died of: an answer where it dies in its own process.

    Args:
        reader: whose file.
        example: what was read.
        died: how the reader ended when it was called in the same process.
        folder: to put the example in.
    """
    path = example.write(folder / "home" / "example")
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, reader.name, str(path), str(PATIENCE)],
        capture_output=True, text=True, timeout=PATIENCE * 8, check=False,
        env={**_environment(folder), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"},
    )  # fmt: skip
    said = (asked.stdout.strip().splitlines() or [""])[-1]
    if asked.returncode == 0 and said.startswith(("rejected", "value")):
        kind = said.partition(":")[0]
        return Verdict(kind, f"{died.kind} in its own process: {said}", "", died.seconds)
    return Verdict(died.kind, f"{died.what}; isolated: {asked.stderr[-300:]}", died.where)


def _environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        **{f"ASTERISM_LIMITS_{name}_MB": str(size) for name, size in LIMITS_MB.items()},
        "ASTERISM_STATE_ROOT": str(folder / "home" / "state"),
        "TMPDIR": str(folder / "home"),
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": "tensorflow",
    }
