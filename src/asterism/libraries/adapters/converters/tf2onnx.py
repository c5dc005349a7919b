"""tf2onnx on a TensorFlow function."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from asterism.libraries.adapters.library import CONVERTERS, Converter
from asterism.libraries.adapters.model_under_test import ModelUnderTest

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
    own_worker = True
    opsets = (13, 15, 17)
    unsupported = (r"Tensorflow op .* is not supported", r"ops? .* (is|are) not supported")

    def script(self) -> str:
        """Source of a function that converts a Keras model."""
        return """
def convert(model, path):
    import tensorflow as tf
    import tf2onnx

    signature = [
        tf.TensorSpec((None, *i.shape[1:]), i.dtype, name=f"input_{n}")
        for n, i in enumerate(model.inputs)
    ]
    function = tf.function(
        lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0], training=False),
        input_signature=signature,
    )
    tf2onnx.convert.from_function(function, input_signature=signature, opset=18, output_path=path)
"""

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Convert the model's inference."""
        import tensorflow as tf

        model = model_under_test.keras()
        signature = [
            tf.TensorSpec((None, *i.shape[1:]), i.dtype, name=f"input_{at}")
            for at, i in enumerate(model.inputs)
        ]

        def infer(*inputs: object) -> object:
            outputs = model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
            many = outputs if isinstance(outputs, list | tuple) else [outputs]
            return [tf.identity(o, name=f"output_{at}") for at, o in enumerate(many)]

        # Keras' layers need no rewriting of their Python code.
        traced = tf.function(infer, input_signature=signature, autograph=False)
        target.write_bytes(_converted(traced, signature, model_under_test.opset or OPSET))


def _converted(function: Any, signature: list[Any], opset: int, *, copies: bool = False) -> bytes:
    """The ONNX file of a function: what the defaults give, in four fifths of their time.

    tf2onnx copies the whole graph before each optimisation, to go on without one that fails.
    Here none may fail at first; where one does, everything is done again with the copies.
    """
    import tf2onnx

    # tf2onnx makes no copies where the variable is set, to whatever value.
    os.environ.pop(_NO_COPIES, None)
    if not copies:
        os.environ[_NO_COPIES] = "FALSE"
    try:
        proto, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=opset)
    except Exception:
        if copies:
            raise
        return _converted(function, signature, opset, copies=True)
    return bytes(proto.SerializeToString())
