"""How processes of sweeps start."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from asterism.core.messages.errors import UserError
from asterism.sweep import pipeline as module
from asterism.sweep.pipeline import forkserver

PROGRAM = """
import os
from asterism.sweep.pipeline import forkserver
if __name__ == "__main__":
    with forkserver().Pool(1) as pool:
        print(pool.apply(os.getpid) != os.getpid())
"""


def folder_of_length(start, length):
    path = start + "/" + "x" * (length - len(start) - 1)
    Path(path).mkdir()
    return path


def test_a_long_folder_for_temporary_files_works_up_to_the_limit(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as start:
        folder = folder_of_length(start, module._LONGEST)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "True\n", done.stderr


def test_a_longer_one_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * module._LONGEST)
    with pytest.raises(UserError, match="TMPDIR"):
        forkserver()
