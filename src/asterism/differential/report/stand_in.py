"""What processes that run scripts get in place of a torchvision that cannot be imported.

Workers have the same in place of it. Scripts themselves hold nothing of it: on a machine whose
torchvision fits its PyTorch they run as they are.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from asterism.differential.adapters import torchvision

#: What scripts import that imports torchvision.
_NEEDING = ("onnx2torch", "onnx2pytorch")

_PACKAGE = """import sys
from types import ModuleType


KIND

for part in ("io", "ops", "transforms"):
    globals()[part] = sys.modules[f"torchvision.{part}"] = Absent(f"torchvision.{part}")
"""


def script_environment(
    script: Path, folder: Path, given: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Variables for a process that runs a script here; none where it needs no stand-in.

    Args:
        script: it may run others beside it.
        folder: where the stand-in is put.
        given: variables that the process gets anyhow.
    """
    text = "".join(path.read_text("utf-8") for path in script.parent.glob("*.py"))
    if not any(f"import {name}" in text or f"from {name}" in text for name in _NEEDING):
        return {}
    if not _is_broken():
        return {}
    package = folder / "torchvision"
    package.mkdir()
    kind = inspect.getsource(torchvision.Absent)
    (package / "__init__.py").write_text(_PACKAGE.replace("KIND", kind), encoding="utf-8")
    before = given.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{before}" if before else str(folder)}


@cache
def _is_broken() -> bool:
    """Whether importing torchvision fails."""
    command = [sys.executable, "-c", "import torchvision"]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0
