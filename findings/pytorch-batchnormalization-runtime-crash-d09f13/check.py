"""runtime crash | pytorch | AssertionError at torch/_functorch/_aot_autograd/functional_utils.py:assert_functional_graph | expected to have an entirely functional graph but found kwargs

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

EXCEPTION = 'AssertionError'
WORDS = ['expected', 'to', 'have', 'an', 'entirely', 'functional', 'graph', 'but', 'found', 'kwargs']


def recorded(error):
    """Whether this is the exception that was seen: its type, and the words of its message."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return name == EXCEPTION and all(word in str(error) for word in WORDS)


def main():
    print("expected: the model runs")
    try:
        outputs = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'repro.py'))["outputs"]
    except BaseException as error:
        print("actual  :", type(error).__name__, error)
        if not recorded(error):
            otherwise(type(error), error, error.__traceback__)
        print("the bug lives")
        return 1
    print("actual  : it runs; the bug is gone")
    return 0


sys.exit(main())
