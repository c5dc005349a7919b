"""tf2onnx on a TensorFlow function."""

from __future__ import annotations

from pathlib import Path

from asterism.libraries.library import CONVERTERS, Converter
from asterism.libraries.subject import Subject

OPSET = 18


@CONVERTERS.register("tf2onnx")
class Tf2Onnx(Converter):
    """TensorFlow to ONNX."""

    name = "tf2onnx"
    packages = ("tf2onnx", "tensorflow", "keras", "onnx")
    keras_backend = "tensorflow"
    suffix = ".onnx"
    host = "tensorflow"
    unsupported = (r"Tensorflow op .* is not supported", r"ops? .* (is|are) not supported")

    def convert(self, subject: Subject, target: Path) -> None:
        """Convert the model's inference."""
        import tensorflow as tf
        import tf2onnx

        model = subject.keras()
        signature = [
            tf.TensorSpec((None, *i.shape[1:]), i.dtype, name=f"input_{at}")
            for at, i in enumerate(model.inputs)
        ]

        def infer(*inputs: object) -> object:
            outputs = model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
            many = outputs if isinstance(outputs, list | tuple) else [outputs]
            return [tf.identity(o, name=f"output_{at}") for at, o in enumerate(many)]

        proto, _ = tf2onnx.convert.from_function(
            tf.function(infer, input_signature=signature), input_signature=signature, opset=OPSET
        )
        target.write_bytes(proto.SerializeToString())
