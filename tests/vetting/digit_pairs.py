"""A real pair: a network trained on handwritten digits, its int8 version, and damaged ones."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier


class Rows(CalibrationDataReader):
    def __init__(self, rows):
        self.rows = iter([{"x": row[np.newaxis]} for row in rows])

    def get_next(self):
        return next(self.rows, None)


def digits():
    """Rows of 64 greys from 0 to 1, and labels."""
    data = load_digits()
    return (data.data / 16).astype(np.float32), data.target


def make_pair(folder):
    """``original.onnx`` and ``int8.onnx``; test inputs in ``inputs.npz``."""
    rows, labels = digits()
    trained = MLPClassifier((32, 32), max_iter=60, random_state=0).fit(rows[:1000], labels[:1000])
    nodes, constants, last = [], [], "x"
    for number, (weights, bias) in enumerate(zip(trained.coefs_, trained.intercepts_, strict=True)):
        names = (f"w{number}", f"b{number}")
        for name, array in zip(names, (weights, bias), strict=True):
            constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        gemm = helper.make_node("Gemm", [last, *names], [f"h{number}"], name=f"dense{number}")
        nodes.append(gemm)
        last = f"h{number}"
        if number < len(trained.coefs_) - 1:
            nodes.append(helper.make_node("Relu", [last], [f"r{number}"], name=f"relu{number}"))
            last = f"r{number}"
    nodes.append(helper.make_node("Softmax", [last], ["y"], name="softmax"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "digits",
        [value("x", TensorProto.FLOAT, ["n", 64])],
        [value("y", TensorProto.FLOAT, ["n", 10])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "original.onnx")
    quantize_static(
        folder / "original.onnx",
        folder / "int8.onnx",
        Rows(rows[:200]),
        quant_format=QuantFormat.QDQ,
        per_channel=False,
    )
    np.savez(folder / "inputs.npz", inputs=rows[1000:], labels=labels[1000:])


def damage(source, target, tensor, factor):
    """A copy whose weights in ``tensor`` are read with a scale that is wrong by a factor."""
    model = onnx.load(source)
    (scale,) = (c for c in model.graph.initializer if c.name == f"{tensor}_scale")
    scale.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(scale) * factor, scale.name))
    onnx.save(model, target)


def make_lite_pair(folder):
    """``original.keras`` and a coarse ``int8.tflite``; test inputs in ``inputs.npz``."""
    import keras
    import tensorflow as tf

    rows, labels = digits()
    keras.utils.set_random_seed(0)
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((64,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(32, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    network.compile("adam", "sparse_categorical_crossentropy")
    network.fit(rows[:1000], labels[:1000], epochs=15, verbose=0)
    network.save(folder / "original.keras")
    converter = tf.lite.TFLiteConverter.from_keras_model(network)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    # Ranges of darker images: the integers of all others saturate.
    converter.representative_dataset = lambda: ([row[None] * 0.4] for row in rows[:100])
    (folder / "int8.tflite").write_bytes(converter.convert())
    np.savez(folder / "inputs.npz", inputs=rows[1000:], labels=labels[1000:])
