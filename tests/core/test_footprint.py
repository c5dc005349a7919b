"""The memory and the processor time of a stage count what it has started."""

import subprocess
import sys

HOLDS = """
import sys
held = b"x" * 150_000_000
print("held", flush=True)
sys.stdin.read()
"""


#: In a process of its own: this one may have held more before.
PROGRAM = f"""
import subprocess, sys, time
from asterism.core.running.footprint import (Footprint)
from asterism.core.settings.machine import peak_memory_mb

before = Footprint().peak_mb()
footprint = Footprint()
shell = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, {HOLDS!r}]  # which has it as a child
process = subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
time.sleep(2)  # its thread looks every second
process.communicate(b"", timeout=120)
assert footprint.peak_mb() >= before + 130, "it is gone, and was seen"
assert Footprint().peak_mb() < footprint.peak_mb() - 100
assert footprint.peak_mb() >= peak_memory_mb()
"""


def test_children_count_while_they_live_and_after():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)


#: Counts for a part of a second of its own processor time, tells it, and waits to be ended.
WORKS = """
import sys, time
while time.process_time() < 0.4:
    pass
print(time.process_time(), flush=True)
sys.stdin.read()
"""

TIMED = f"""
import subprocess, sys
from asterism.core.running.footprint import (processor_seconds)

before = processor_seconds()
process = subprocess.Popen(
    [sys.executable, "-c", {WORKS!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
told = float(process.stdout.readline())
alive = processor_seconds()
assert alive >= before + told - 0.05, "it lives, and counts"
process.communicate(b"", timeout=120)
assert processor_seconds() >= alive - 0.05, "it was waited for, and still counts"
"""


def test_processor_time_of_children_counts_while_they_live_and_after():
    subprocess.run([sys.executable, "-c", TIMED], check=True, timeout=300)
