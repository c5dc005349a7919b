"""LiteRT's converter."""

from __future__ import annotations

from pathlib import Path

from asterism.libraries.library import CONVERTERS, Converter
from asterism.libraries.subject import Subject


@CONVERTERS.register("tflite")
class TfLite(Converter):
    """Keras to LiteRT. Only ``from_keras_model`` is right for Keras 3."""

    name = "tflite"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    suffix = ".tflite"
    host = "tensorflow"
    own_worker = True
    unsupported = (
        r"Please consider using Select TF ops",
        r"neither a custom op nor a flex op",
        r"explicitly marked illegal",
        r"TensorListReserve",
    )

    def script(self) -> str:
        """Source of a function that converts a Keras model."""
        return """
def convert(model):
    import tensorflow as tf

    with open("model.tflite", "wb") as file:
        file.write(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    return "model.tflite"
"""

    def convert(self, subject: Subject, target: Path) -> None:
        """Convert without quantisation."""
        import tensorflow as tf

        converter = tf.lite.TFLiteConverter.from_keras_model(subject.keras())
        target.write_bytes(converter.convert())
