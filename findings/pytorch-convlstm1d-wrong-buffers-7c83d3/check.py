"""wrong buffers | pytorch | asterism.libraries.adapters.library.WrongBuffersError

Seen with keras 3.15.1, torch 2.13.0+cpu.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys
import runpy


def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np


def main():
    found = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'repro.py'))
    outputs, expected = found["outputs"], found["expected"]
    wrong = outputs != expected
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
