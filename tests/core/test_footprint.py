"""The memory of a stage counts what it has started."""

import subprocess
import sys
import time

from asterism.core.running.footprint import Footprint
from asterism.core.settings.machine import peak_memory_mb

HOLDS = """
import sys, time
held = b"x" * 150_000_000
print("held", flush=True)
time.sleep(4)
"""


def test_children_count_while_they_live_and_after():
    before = Footprint().peak_mb()
    footprint = Footprint()
    process = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(2)
    process.communicate(timeout=120)
    assert footprint.peak_mb() >= before + 130, "it is gone, and was seen"
    assert Footprint().peak_mb() < footprint.peak_mb() - 100
    assert footprint.peak_mb() >= peak_memory_mb()
