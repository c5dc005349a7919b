"""Converters to ONNX: tf2onnx on a TensorFlow function, and Keras' own export.

Keras exports on its PyTorch backend, where it calls PyTorch's exporter.
"""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import CONVERTERS, Converter
from asterism.differential.adapters.model_under_test import ModelUnderTest

OPSET = 18
#: tf2onnx's own switch.
_NO_COPIES = "TF2ONNX_CATCH_ERRORS"


@CONVERTERS.register("tf2onnx")
class Tf2Onnx(Converter):
    """TensorFlow to ONNX."""

    name = "tf2onnx"
    packages = ("tf2onnx", "tensorflow", "keras", "onnx")
    keras_backend = "tensorflow"
    suffix = ".onnx"
    host = "tensorflow"
    zero_initializers = False
    opsets = (13, 15, 17)
    unsupported = (r"Tensorflow op .* is not supported", r"ops? .* (is|are) not supported")

    def code(self, opset: int | None = None) -> BackendCode:
        """See :class:`Converter`. Keras' layers need no rewriting of their Python code."""
        return BackendCode(
            ("import tensorflow as tf", "import tf2onnx"),
            f"""signature = [tf.TensorSpec((None, *x.shape[1:]), x.dtype, name=f"input_{{n}}")
             for n, x in enumerate(model.inputs)]

def infer(*tensors):
    outputs = model(list(tensors) if len(tensors) > 1 else tensors[0], training=False)
    outputs = keras.tree.flatten(outputs)
    return [tf.identity(y, name=f"output_{{n}}") for n, y in enumerate(outputs)]

function = tf.function(infer, input_signature=signature, autograph=False)
tf2onnx.convert.from_function(function, signature, opset={opset or OPSET}, output_path=path)""",
        )

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """See :class:`Converter`: what the defaults give, in four fifths of their time.

        tf2onnx copies the whole graph before each optimisation, to go on without one that fails.
        Here none may fail at first; where one does, everything is done again with the copies.
        """
        # tf2onnx makes no copies where the variable is set, to whatever value.
        try:
            with patch.dict(os.environ, {_NO_COPIES: "FALSE"}):
                super().convert(model_under_test, target)
        except Exception:
            super().convert(model_under_test, target)


@CONVERTERS.register("keras_onnx")
class KerasOnnx(Converter):
    """``model.export(format="onnx")``."""

    name = "keras_onnx"
    packages = ("keras", "torch", "onnx")
    keras_backend = "torch"
    suffix = ".onnx"
    host = "pytorch"
    opsets = (15, 17, 18)
    unsupported = (r"Exporting the operator .* is not supported", r"UnsupportedOperatorError")

    def code(self, opset: int | None = None) -> BackendCode:
        """See :class:`Converter`; the exporter needs the model to have been called."""
        more = "" if opset is None else f", opset_version={opset}"
        return BackendCode(
            (),
            f"""examples = [np.zeros((1, *x.shape[1:]), x.dtype) for x in model.inputs]
model(examples if len(examples) > 1 else examples[0], training=False)
model.export(path, format="onnx", verbose=False{more})""",
        )
