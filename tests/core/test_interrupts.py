"""Where an interrupt may cut a command short, and that the command ends by it in any case."""

import subprocess
import sys

import pytest

from asterism.core.files.interrupts import INTERRUPTED

PROGRAM = """
import os, signal, time
from asterism.core.files.interrupts import postpone_interrupts, run_command

def interrupted(what):
    os.kill(os.getpid(), signal.SIGINT)
    print(what, flush=True)

def rmtree():
    interrupted("removed")

def tidied():
    with postpone_interrupts():
        interrupted("tidied")

def computed():
    interrupted("computed")

def command():
    {function}()
    time.sleep(20)
    print("went on")

run_command(command)
"""


@pytest.mark.parametrize(
    ("function", "whole"), [("rmtree", "removed\n"), ("tidied", "tidied\n"), ("computed", "")]
)
def test_only_what_clears_up_is_not_cut_short(function, whole):
    program = [sys.executable, "-c", PROGRAM.format(function=function)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.returncode) == (whole, INTERRUPTED)
