"""Finding the processes that a test has started, whoever their parents are by now."""

import os
import time
import uuid

import psutil

_MARK = "ASTERISM_TEST_MARK"


class Marked:
    """Processes that have inherited a variable which nothing else has."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, _MARK: self.mark}

    def running(self):
        """Those that live, as psutil's processes."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(_MARK) == self.mark
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                pass
        return found

    def left(self, seconds=60.0):
        """Commands of those that still live after so long, which are killed."""
        deadline = time.monotonic() + seconds
        while living := self.running():
            if time.monotonic() > deadline:
                commands = [describe(process) for process in living]
                for process in living:
                    process.kill()
                return commands
            time.sleep(0.05)
        return []


def describe(process):
    """A process' command, as far as it can be read."""
    try:
        return " ".join(process.cmdline()[-4:])
    except psutil.Error:
        return str(process)


def wait_until(condition, otherwise="it did not come", seconds=120.0):
    """Wait for a condition; what it gives."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
    return found
