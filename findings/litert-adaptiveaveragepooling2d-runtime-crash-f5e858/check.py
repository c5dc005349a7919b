"""runtime crash | litert | RuntimeError at ai_edge_litert/interpreter.py:__call__ | BytesRequired number of elements overflowed XNNPack delegate failed to get

Seen with ai-edge-litert 2.3.0, keras 3.15.1, tensorflow 2.21.0.
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


os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import keras
import numpy as np

EXCEPTION = 'RuntimeError'
WORDS = ['XNNPack', 'delegate', 'failed', 'prepare']


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
