"""Processes that end with the one that started them."""

import os
import signal
import subprocess
import sys
import time

import psutil

from places import ROOT

CHILD = """
import pathlib, signal, subprocess
from asterism.core.processes import interrupt_group_with_parent

interrupt_group_with_parent()
sleeper = subprocess.Popen(["sleep", "1000"])
pathlib.Path("started").touch()
try:
    sleeper.wait()
except KeyboardInterrupt:
    pathlib.Path("interrupted").touch()
"""

PARENT = """
import signal, subprocess, sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # whatever this was started from
subprocess.run([sys.executable, "-c", sys.argv[1]], start_new_session=True)
"""


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_group_is_told_when_the_parent_of_its_leader_is_killed(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PARENT, CHILD]
    parent = subprocess.Popen(command, cwd=tmp_path, env=environment)
    wait_until((tmp_path / "started").exists)
    below = psutil.Process(parent.pid).children(recursive=True)
    assert len(below) == 2 and not (tmp_path / "interrupted").exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    try:
        wait_until(lambda: not any(map(lives, below)))
    finally:
        for process in filter(lives, below):
            process.kill()
    assert (tmp_path / "interrupted").exists()
