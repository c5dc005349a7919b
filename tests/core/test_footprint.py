"""The memory of a stage counts what it has started."""

import subprocess
import sys

HOLDS = """
import sys, time
held = b"x" * 150_000_000
print("held", flush=True)
time.sleep(4)
"""


#: In a process of its own: this one may have held more before.
PROGRAM = f"""
import subprocess, sys, time
from asterism.core.running.footprint import Footprint
from asterism.core.settings.machine import peak_memory_mb

before = Footprint().peak_mb()
footprint = Footprint()
shell = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, {HOLDS!r}]  # which has it as a child
process = subprocess.Popen(shell, stdout=subprocess.PIPE)
process.stdout.readline()
time.sleep(2)
process.communicate(timeout=120)
assert footprint.peak_mb() >= before + 130, "it is gone, and was seen"
assert Footprint().peak_mb() < footprint.peak_mb() - 100
assert footprint.peak_mb() >= peak_memory_mb()
"""


def test_children_count_while_they_live_and_after():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
