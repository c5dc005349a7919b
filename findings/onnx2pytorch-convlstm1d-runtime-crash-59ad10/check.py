"""runtime crash | onnx2pytorch | TypeError at onnx2pytorch/convert/layer.py:convert_layer | missing required positional and

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
    layer1 = keras.layers.ConvLSTM1D(filters=1, kernel_size=[1])
    n1 = layer1(n0)
    layer1.set_weights([np.array([0.8197142481803894, -0.5431948900222778, -0.5828405618667603, -0.07279428839683533], 'float32').reshape((1, 1, 4)), np.array([0.1907016783952713, -0.8650539517402649, -0.3948515057563782, -0.9383328557014465], 'float32').reshape((1, 1, 4)), np.array([0.31380414962768555, 0.07998489588499069, -0.3631438612937927, 0.3765795826911926], 'float32').reshape((4,))])
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

INPUTS = [np.array([-0.10231033712625504, -0.6229577660560608], 'float32').reshape((2, 1, 1, 1))]

EXCEPTION = 'TypeError'
WORDS = ['missing', 'required', 'positional', 'and']


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
        model = build()
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "model.onnx")
        convert(model, path)
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
