"""Commands of ``asterism`` that are interrupted end, say so in one line, and leave nothing."""

import random
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from asterism.core.files.interrupts import INTERRUPTED
from marked import Marked, wait_until
from thinning import every

MAIN = "from asterism.cli import main; main()"

#: Every moment of these commands that is no start of Python's is tried: they take about a second.
COMMANDS = {
    "doctor": ["doctor"],
    "new": ["new", "own"],
    "check": ["check", "no.onnx"],
}


SIGNALS = (signal.SIGINT, signal.SIGTERM)


def catches_sigterm(pid):
    """Whether a process has begun to handle signals, as far as the system tells."""
    status = Path(f"/proc/{pid}/status")
    caught = re.search(r"SigCgt:\s*(\w+)", status.read_text()) if status.exists() else None
    return caught is None or int(caught[1], 16) >> (signal.SIGTERM - 1) & 1


def run(folder, program, *words, after=None, number=signal.SIGINT):
    """A program's status, and what it says on standard error; interrupted after some seconds."""
    marked = Marked()
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=folder,
        env=marked.environment | {"TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if after is not None:
        wait_until(lambda: catches_sigterm(process.pid) or process.poll() is not None)
        time.sleep(after)
        process.send_signal(number)
    _, said = process.communicate(timeout=240)
    assert marked.left(20) == []
    return process.returncode, said


@pytest.mark.parametrize(("name", "number"), every(3, list(product(COMMANDS, SIGNALS))))
def test_an_interrupted_command_says_so_in_one_line(tmp_path, name, number):
    rng, interrupted = random.Random(f"{name} {number}"), 0
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        after = rng.uniform(0, 0.4)
        status, said = run(folder, MAIN, *COMMANDS[name], after=after, number=number)
        if status == INTERRUPTED:
            # `check` may have said before that there is no such file.
            assert said.splitlines()[-1] == "error: interrupted; the same command resumes it"
            assert "Traceback" not in said
            interrupted += 1
        else:
            assert status in (0, 1) and "Traceback" not in said  # it had ended
    assert interrupted


#: What libraries do to an interrupt, in a function that a command calls.
SWALLOWED = {
    "caught": """
        try:
            come()
        except KeyboardInterrupt:
            pass
    """,
    "another error": """
        try:
            come()
        except BaseException:
            raise RuntimeError("training failed")
    """,
    "an error for the user": """
        try:
            come()
        except BaseException:
            raise UserError("the file is damaged")
    """,
    "an exit": """
        try:
            come()
        except BaseException:
            sys.exit(0)
    """,
    "lost in a callback": """
        class Callback:
            def __del__(self):
                come()
        Callback()
    """,
    "noted by DVC's lock": """
        with postpone_sigint():
            os.kill(os.getpid(), signal.SIGINT)
    """,
    "twice": """
        for _ in range(2):
            try:
                come()
            except KeyboardInterrupt:
                pass
    """,
}

#: A command that is interrupted, and then goes on to write.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from asterism.core.files.artifacts import replacing
from asterism.core.messages.errors import UserError
from asterism.core.files.interrupts import run_command
from asterism.sweep.interrupt import postpone_sigint

def come():
    os.kill(os.getpid(), signal.{number})
    time.sleep(5)

def fit():
{body}

def command():
    with replacing(Path("kept")) as unfinished:
        unfinished.write_text("half")
        fit()
        {then}

run_command(command)
"""


THEN = ("pass", "time.sleep(60)")


@pytest.mark.parametrize(
    ("number", "then", "name"), every(3, list(product(SIGNALS, THEN, SWALLOWED)))
)
def test_an_interrupt_that_a_library_swallows_ends_the_command(tmp_path, name, number, then):
    body = SWALLOWED[name]
    begun = time.monotonic()
    status, said = run(tmp_path, PROGRAM.format(number=number.name, body=body, then=then))
    assert status == INTERRUPTED
    assert said == "error: interrupted; the same command resumes it\n"
    assert list(tmp_path.iterdir()) == [], "neither the result nor a temporary name"
    assert time.monotonic() - begun < 30


#: scikit-learn's training catches KeyboardInterrupt, and gives back the model as it is by then.
DEMO = """
import os, signal, sys
from sklearn.neural_network import MLPClassifier

after_an_epoch = MLPClassifier._update_no_improvement_count

def interrupted(self, *given):
    if self.n_iter_ == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return after_an_epoch(self, *given)

MLPClassifier._update_no_improvement_count = interrupted
sys.argv = ["asterism", "vet", "--demo", "--dry-run"]
"""


@pytest.mark.slow
def test_a_demo_that_is_half_trained_is_not_kept(tmp_path):
    status, said = run(tmp_path, DEMO + MAIN)
    assert status == INTERRUPTED
    assert said == "error: interrupted; the same command resumes it\n"
    assert not [path.name for path in tmp_path.iterdir() if "demo" in path.name]


#: The main thread waits in native code, which no signal ends, and runs no Python meanwhile.
STUCK = """
import ctypes, os, signal, threading
from asterism.core.files import interrupts

interrupts._STUCK_SECONDS = 0.5

def command():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    held = ctypes.create_string_buffer(256)  # an unlocked mutex
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(held)

interrupts.run_command(command)
"""


def test_a_command_that_is_in_native_code_ends_too(tmp_path):
    begun = time.monotonic()
    assert run(tmp_path, STUCK) == (
        INTERRUPTED,
        "error: interrupted; the same command resumes it\n",
    )
    assert time.monotonic() - begun < 60


CLEARS = """
import os, signal, tempfile, time
from asterism.core.files.interrupts import run_command, postpone_interrupts
from pathlib import Path

def interrupted(function):
    def once(*given, **named):
        os.kill(os.getpid(), signal.SIGTERM)
        return function(*given, **named)
    return once

def command():
    {block}
    time.sleep(5)
    Path("kept").touch()

run_command(command)
"""


@pytest.mark.parametrize(
    ("block", "left"),
    [
        ("with postpone_interrupts(): interrupted(Path('cleared').touch)()", ["cleared"]),
        ("os.rmdir = interrupted(os.rmdir)\n    with tempfile.TemporaryDirectory(): pass", []),
        ("os.mkdir = interrupted(os.mkdir)\n    with tempfile.TemporaryDirectory(): pass", []),
    ],
)
def test_what_clears_up_is_not_ended_half_way(tmp_path, block, left):
    status, _ = run(tmp_path, CLEARS.format(block=block))
    assert status == INTERRUPTED
    assert [path.name for path in tmp_path.iterdir()] == left


def test_a_run_under_nohup_goes_on_when_the_terminal_is_closed(tmp_path):
    program = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from asterism.core.files.interrupts import run_command
run_command(lambda: os.kill(os.getpid(), signal.SIGHUP))
"""
    assert run(tmp_path, program) == (0, "")
