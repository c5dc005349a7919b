"""LiteRT's converter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.libraries.adapters.library import CONVERTERS, Converter
from asterism.libraries.adapters.model_under_test import ModelUnderTest

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
def convert(model, path):
    import tensorflow as tf

    given = [
        keras.Input(batch_shape=(len(i) or None, *t.shape[1:]), dtype=t.dtype, name=f"input_{n}")
        for n, (i, t) in enumerate(zip(INPUTS, model.inputs))
    ]
    model = keras.Model(given, model(given if len(given) > 1 else given[0]))
    with open(path, "wb") as file:
        file.write(tf.lite.TFLiteConverter.from_keras_model(model).convert())
"""

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Convert without quantisation."""
        import tensorflow as tf

        model = _of_batches(model_under_test.keras(), model_under_test.batch)
        with _without_default_signature(model):
            target.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())


def _of_batches(model: Any, size: int | None) -> Any:
    """The model for batches of one size; nothing can be fixed of a batch without items."""
    import keras

    given = [
        keras.Input(batch_shape=(size or None, *i.shape[1:]), dtype=i.dtype, name=f"input_{at}")
        for at, i in enumerate(model.inputs)
    ]
    return keras.Model(given, model(given if len(given) > 1 else given[0]))


@contextmanager
def _without_default_signature(model: Any) -> Iterator[None]:
    """Inside the block, Keras' models have no default signature, which takes a trace to make.

    While a SavedModel is written, TensorFlow walks over all that the model holds, in search of
    tables. It makes the default signatures of this model and of the one inside, and drops them.
    A Keras that calls it otherwise goes on to make them.
    """
    kind = next((k for k in type(model).__mro__ if _SIGNATURE in vars(k)), None)
    if kind is None:
        yield
        return
    kept = vars(kind)[_SIGNATURE]
    setattr(kind, _SIGNATURE, None)
    try:
        yield
    finally:
        setattr(kind, _SIGNATURE, kept)
