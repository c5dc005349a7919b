"""LiteRT's converter."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import CONVERTERS, Converter
from asterism.differential.adapters.model_under_test import ModelUnderTest

#: Keras' own name of a model's default signature.
_SIGNATURE = "_default_save_signature"


@CONVERTERS.register("tflite")
class TfLite(Converter):
    """Keras to LiteRT. Only ``from_keras_model`` is right for Keras 3.

    The batch is fixed: LiteRT has lists of tensors, and so recurrent layers, of known sizes only.
    """

    name = "tflite"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    suffix = ".tflite"
    host = "tensorflow"
    zero_initializers = False
    unsupported = (
        r"Please consider using Select TF ops",
        r"neither a custom op nor a flex op",
        r"explicitly marked illegal",
        r"TensorListReserve",
    )

    def code(self, opset: int | None = None) -> BackendCode:
        """See :class:`Converter`; without quantisation."""
        return BackendCode(
            ("import tensorflow as tf",),
            """fixed = [keras.Input(batch_shape=(batch or None, *x.shape[1:]), dtype=x.dtype,
                    name=f"input_{n}") for n, x in enumerate(model.inputs)]
whole = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))
content = tf.lite.TFLiteConverter.from_keras_model(whole).convert()
with open(path, "wb") as file:
    file.write(content)""",
        )

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """See :class:`Converter`; meanwhile Keras' models have no default signature.

        That takes a trace to make. While a SavedModel is written, TensorFlow walks over all that
        the model holds, in search of tables. It makes the signatures of this model and of the one
        inside, and drops them. A Keras that calls it otherwise goes on to make them.
        """
        import keras

        kind = next((k for k in keras.Model.__mro__ if _SIGNATURE in vars(k)), None)
        with patch.object(kind, _SIGNATURE, None) if kind is not None else nullcontext():
            super().convert(model_under_test, target)
