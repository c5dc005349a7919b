"""Folders that cannot be written, also for root, whom modes do not stop; and open ones."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def obey_modes():
    """For ``preexec_fn``: what is started minds the modes of folders and files."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


@contextmanager
def read_only(folder):
    """Nothing can be written into the folder while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o555)
    try:
        touch = ["touch", str(folder / "probe")]
        if subprocess.run(touch, preexec_fn=obey_modes, capture_output=True).returncode == 0:
            (folder / "probe").unlink()
            pytest.skip("this user may write everywhere")
        yield folder
    finally:
        folder.chmod(0o755)


@contextmanager
def entered_by_others():
    """A new folder that others may enter, unlike those of tests."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def full(folder):
    """A folder on a disk of its own that has room for next to nothing."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("this user cannot mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
