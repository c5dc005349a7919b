"""A library without any, to test how workers start and end: it aborts or hangs as it is told."""

from __future__ import annotations

import os
import re
import time

from asterism.differential.adapters.library import LIBRARIES, Library


@LIBRARIES.register("small")
class Small(Library):
    """Keras' NumPy backend, which is imported in the shortest time."""

    name = "small"
    packages = ("keras",)
    keras_backend = "numpy"
    forks = True
    options = ("none", "abort", "talk", "hang", "hold", "shut", "once")

    def code(self, option):
        raise NotImplementedError

    def compile(self, model_under_test, option):
        if option == "talk":
            for line in range(8):
                os.write(1, f"line {line}: {'word ' * 50}\n".encode())
        if option == "hang":
            model_under_test.file(self.name, ".hangs").touch()
            time.sleep(1000)
        if option == "once" and not (mark := model_under_test.file(self.name, ".hangs")).exists():
            mark.touch()
            time.sleep(1000)
        if option == "hold":
            model_under_test.file(self.name, ".hangs").touch()
            re.match("(a+)+$", "a" * 60 + "b")  # with the interpreter's lock
        if option == "shut":
            os.closerange(3, 200)  # as a crash does, but the process hangs while it ends
            time.sleep(1000)
        if option not in ("none", "once"):
            os.abort()

    def run(self, compiled, inputs, kind=""):
        return list(inputs)


@LIBRARIES.register("lone")
class Lone(Small):
    """One whose workers are processes of their own, no forks."""

    name = "lone"
    forks = False


@LIBRARIES.register("absent")
class Absent(Small):
    """A library that is not installed."""

    name = "absent"
    packages = ("no-such-distribution",)
    options = ("none",)


@LIBRARIES.register("broken")
class Broken(Small):
    """A library that cannot be imported."""

    name = "broken"
    options = ("none",)

    def start(self):
        raise ImportError("it does not start")
