"""runtime crash | litert | RuntimeError at ai_edge_litert/interpreter.py:__call__ | BytesRequired number of elements overflowed XNNPack delegate failed to get

Seen with ai-edge-litert 2.3.0, keras 3.15.1, tensorflow 2.21.0.
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


os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import keras
import numpy as np


def build():
    n0 = keras.Input((3, 2, 1), dtype='float32', name='n0_input')
    layer1 = keras.layers.AdaptiveAveragePooling2D(output_size=[2, 2])
    n1 = layer1(n0)
    return keras.Model(n0, n1)


def convert(model, path):
    import tensorflow as tf

    given = [
        keras.Input(batch_shape=(len(i) or None, *t.shape[1:]), dtype=t.dtype, name=f"input_{n}")
        for n, (i, t) in enumerate(zip(INPUTS, model.inputs))
    ]
    model = keras.Model(given, model(given if len(given) > 1 else given[0]))
    with open(path, "wb") as file:
        file.write(tf.lite.TFLiteConverter.from_keras_model(model).convert())

def run(path, inputs):
    from ai_edge_litert.interpreter import Interpreter

    def number(name):
        return int("".join(c for c in name if c.isdigit()) or 0)

    runner = Interpreter(path).get_signature_runner()
    names = sorted(runner.get_input_details(), key=number)
    outputs = runner(**dict(zip(names, inputs)))
    return [outputs[name] for name in sorted(outputs, key=number)]

INPUTS = [np.zeros((0, 3, 2, 1), 'float32')]

EXCEPTION = 'RuntimeError'
WORDS = ['BytesRequired', 'number', 'of', 'elements', 'overflowed', 'XNNPack', 'delegate', 'failed', 'to', 'get']


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
        path = os.path.join(folder.name, "model.tflite")
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
