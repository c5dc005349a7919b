"""A kill at any moment leaves a state from which the same command ends with the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from places import ROOT

#: Three units of forty steps, each of which saves a state of several files; then the result.
PROGRAM = """
import sys
from functools import partial
from pathlib import Path
import numpy as np
from asterism.core.resuming import checkpoints
from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.resuming.work_units import SharedWorkUnits

checkpoints.SAVE_EVERY = 0
result = Path(sys.argv[1])

class Walk:
    def __init__(self, numbers): self.numbers = numbers
    def save(self, folder): write_arrays(folder / "numbers.npz", numbers=self.numbers)
    @classmethod
    def load(cls, folder): return cls(read_arrays(folder / "numbers.npz")["numbers"])

def read(folder):
    facts = read_json(folder / "facts.json")
    return facts["step"], Walk.load(folder).numbers

def compute(seed, checkpoint):
    step, numbers = checkpoint.restore(read) or (0, np.full(1000, seed, np.uint64))
    print("begun", flush=True)
    while step < 40:
        numbers = numbers * np.uint64(6364136223846793005) + np.uint64(step)
        step += 1

        def fill(folder):
            Walk(numbers).save(folder)
            write_json(folder / "facts.json", {"step": step})

        checkpoint.save(fill)
    return Walk(numbers)

units = SharedWorkUnits("walk", "key")
found = units.gather({f"p-{n}": partial(compute, n) for n in range(3)}, Walk.load)
write_arrays(result, **{f"p-{n}": walk.numbers for n, walk in enumerate(found)})
units.finish()
"""


def start(result, state):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "ASTERISM_STATE_ROOT": str(state)}
    command = [sys.executable, "-c", PROGRAM, str(result)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_twelve_kills_change_no_byte_and_set_nothing_aside(tmp_path):
    undisturbed = start(tmp_path / "whole.npz", tmp_path / "state of whole")
    assert undisturbed.wait(120) == 0
    rng, killed = random.Random(0), 0
    for _ in range(12):
        process = start(tmp_path / "killed.npz", tmp_path / "state")
        process.stdout.readline()
        time.sleep(rng.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        assert "damaged" not in process.stdout.read() + process.stderr.read()
    assert killed >= 5, "it ends before it is killed"
    last = start(tmp_path / "killed.npz", tmp_path / "state")
    output, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors
    assert "resumes" in output, "what was saved must not be computed again"
    assert (tmp_path / "killed.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert not list((tmp_path / "state").rglob("*.damaged-*"))
    assert [p.name for p in (tmp_path / "state/units/walk/key").glob("*.checkpoint/0*")] == []
