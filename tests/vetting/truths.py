"""What tests of the truth share: the benchmark's modules, and this checkout's command."""

import os
import sys
from pathlib import Path

from places import ROOT

_FOLDERS = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "localisation")]
sys.path[:0] = _FOLDERS

from vetted_truth import cases, counting, judging, modules, pairs, recounting, running  # noqa: E402

for _folder in _FOLDERS:
    sys.path.remove(_folder)

__all__ = ["cases", "counting", "judging", "modules", "pairs", "recounting", "running"]


def written_command(folder: Path) -> Path:
    """A file ``asterism`` in a folder, which runs this checkout's source."""
    path = folder / "asterism"
    program = "from asterism.cli import main; main()"
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    python = f"PYTHONPATH='{paths}' exec '{sys.executable}' -c '{program}' \"$@\"\n"
    path.write_text(f"#!/bin/sh\n{python}")
    path.chmod(0o755)
    return path
