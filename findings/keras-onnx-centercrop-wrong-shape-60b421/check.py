"""wrong shape | keras_onnx | CenterCrop()

Seen with keras 3.15.1, onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys
import tempfile


def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np


def build():
    n0 = keras.Input((1, 1, 1), dtype='float32', name='n0_input')
    layer1 = keras.layers.CenterCrop(height=6, width=6)
    n1 = layer1(n0)
    return keras.Model(n0, n1)


def convert(model, path):
    import torch

    examples = [
        torch.zeros((1, *i.shape[1:]), dtype=getattr(torch, i.dtype)) for i in model.inputs
    ]
    model(examples if len(examples) > 1 else examples[0], training=False)
    model.export(path, format="onnx", verbose=False)

def run(path, inputs):
    import torch
    import onnx
    from onnx2pytorch import ConvertModel

    module = ConvertModel(onnx.load(path))
    module.eval()
    with torch.no_grad():
        outputs = module(*(torch.from_numpy(i) for i in inputs))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [o.numpy() for o in outputs]

INPUTS = [np.array([0.6080415844917297, -1.421401023864746], 'float32').reshape((2, 1, 1, 1))]

EXPECTED = [np.array([0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917298, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917297, 0.6080415844917298, 0.6080415844917297, 0.6080415844917297, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.4214010238647463, -1.421401023864746, -1.4214010238647463, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.421401023864746, -1.4214010238647459, -1.421401023864746], 'float64').reshape((2, 6, 6, 1))]  # a float64 run
TOLERANCES = [np.array([1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.3110705640721857e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414918e-05, 1.9316145699414914e-05, 1.9316145699414918e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.9316145699414914e-05, 1.931614569941491e-05, 1.9316145699414914e-05], 'float64').reshape((2, 6, 6, 1))]
DTYPES = ['float32']


def difference(
    actual: np.ndarray, expected: np.ndarray, tolerance: np.ndarray, dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is: of values the largest deviation as a multiple of its
    tolerance, of a NaN/Inf mask the number of its elements that differ, else 0.
    """
    if actual.shape != expected.shape:
        return "wrong shape", 0.0
    if str(actual.dtype) != dtype:
        return "wrong dtype", 0.0
    with np.errstate(all="ignore"):
        # What is finite in float64 may be too large for the dtype: no library is to blame.
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4))
        wrong = np.isnan(actual) != np.isnan(expected)
        wrong |= np.isinf(actual) != np.isinf(expected)
        wrong |= np.isinf(expected) & ((actual > 0) != (expected > 0))
        compared = judged & np.isfinite(actual) & np.isfinite(expected)
        deviation = np.where(compared, np.abs(actual.astype("float64") - expected), 0.0)
        excess = float(np.max(deviation / tolerance, initial=0.0))
    if (wrong & judged).any():
        return "NaN/Inf mask differs", float((wrong & judged).sum())
    return ("values differ", excess) if excess > 1 else None


def main():
    model = build()
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "model.onnx")
    convert(model, path)
    outputs = run(path, INPUTS)
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        found = difference(actual, expected, tolerance, dtype)
        print("differs ", *(found or ["no"]))
        wrong |= found is not None
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
