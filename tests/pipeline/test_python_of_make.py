"""``make install PYTHON=…`` has the Python that was asked for, or says which one there is."""

import os
import shutil
import subprocess

import pytest

from places import ROOT


@pytest.fixture
def installed(tmp_path):
    """A clone whose environment was made with a Python 3.11, and a Python 3.12 beside it."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for name in ("requirements.lock", "pyproject.toml", "Makefile"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    for place, version in ((".venv/bin/python", "3.11.7"), ("other/python3.12", "3.12.1")):
        program = tmp_path / place
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho Python {version}\n", encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / ".venv/.installed").touch()
    return tmp_path


def make_install(folder, *settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "PYTHON"))}
    command = ["make", "--no-print-directory", "install", *settings]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_an_environment_of_another_python_is_an_error_that_names_both(installed):
    done = make_install(installed, f"PYTHON={installed / 'other/python3.12'}")
    assert done.returncode != 0
    assert "error: .venv has Python 3.11.7: remove it before you ask for /" in done.stdout


def test_the_same_python_and_none_asked_for_are_as_before(installed):
    assert make_install(installed, f"PYTHON={installed / '.venv/bin/python'}").returncode == 0
    assert make_install(installed).returncode == 0
