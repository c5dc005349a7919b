"""runtime crash | openvino | Einsum(equation=ii)

The model, which stands below as a file:

    [einsum] y0 = Einsum <equation: string = \"ii\"> (x0)

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
    import openvino as ov

    core = ov.Core()
    compiled = core.compile_model(
        core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    result = compiled(inputs)
    return [result[i] for i in range(len(compiled.outputs))]


MODEL = """
CAg6ZworCgJ4MBICeTAaBmVpbnN1bSIGRWluc3VtKhEKCGVxdWF0aW9uIgJpaaABAxIGRWluc3VtWhQKAngwEg4KDAgBEgg
KAggDCgIIA2IMCgJ5MBIGCgQIARIAagwKAnkwEgYKBAgBEgBCBAoAEBI=
"""
INPUTS = [np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 'float32').reshape((3, 3))]

EXCEPTION = 'RuntimeError'
WORDS = ['Exception', 'from', 'Exception', 'from', 'Exception', 'from', 'CALLBACK', 'HAS', 'Check', 'failed']


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
