"""runtime crash | onnx2torch | GatherElements()

The model, which stands below as a file:

    [gatherelements] y0 = GatherElements <axis: int = -2> (x0, c0)

Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import base64
import os
import sys
import tempfile

def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


import numpy as np


def run(path, inputs):
    import torch
    import onnx2torch

    module = onnx2torch.convert(path)
    module.eval()
    with torch.no_grad():
        outputs = module(*(torch.from_numpy(i) for i in inputs))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [o.numpy() for o in outputs]


MODEL = """
CAg65AEKQgoCeDAKAmMwEgJ5MBoOZ2F0aGVyZWxlbWVudHMiDkdhdGhlckVsZW1lbnRzKhQKBGF4aXMY/v//////////AaA
BAhIOR2F0aGVyRWxlbWVudHMqTAgCCAQQB0ICYzBKQAAAAAAAAAAAAQAAAAAAAAACAAAAAAAAAAAAAAAAAAAA//////////
8AAAAAAAAAAP7/////////AQAAAAAAAABaFAoCeDASDgoMCAESCAoCCAMKAggEYhQKAnkwEg4KDAgBEggKAggCCgIIBGoUC
gJ5MBIOCgwIARIICgIIAgoCCARCBAoAEBI=
"""
INPUTS = [np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 'float32').reshape((3, 4))]

EXCEPTION = 'RuntimeError'
WORDS = ['index', 'is', 'out', 'of', 'bounds', 'for', 'dimension', 'with', 'size']


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
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "model.onnx")
        open(path, "wb").write(base64.b64decode(MODEL))
        outputs = run(path, INPUTS)
    except BaseException as error:
        print("actual  :", type(error).__name__, error)
        if not recorded(error):
            otherwise(type(error), error, error.__traceback__)
        print("the bug lives")
        return 1
    print("actual  : it runs; the bug is gone")
    return 0


sys.exit(main())
