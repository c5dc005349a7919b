"""Keras files of any signature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.tensor_models.runtime import RUNTIMES, Tensors


@RUNTIMES.register("keras")
class KerasRuntime:
    """A Keras model on TensorFlow, compiled once for each shape of inputs."""

    suffixes: ClassVar[tuple[str, ...]] = KERAS_SUFFIXES

    def __init__(self, path: Path) -> None:
        import tensorflow as tf

        model = load_keras(path)
        inputs, outputs = tuple(map(_spec, model.inputs)), tuple(map(_spec, model.outputs))
        self.signature = Signature("keras", inputs, outputs, operators=len(model.layers))
        self.fixed_batch = inputs[0].shape[0]
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in model.inputs]

        def call(*tensors: Any) -> list[Any]:
            given = list(tensors) if len(tensors) > 1 else tensors[0]
            answer = model(given, training=False)
            return list(answer) if isinstance(answer, list | tuple) else [answer]

        self._call = tf.function(call, input_signature=specs, autograph=False)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        import tensorflow as tf

        answers = self._call(*(tf.constant(inputs[spec.name]) for spec in self.signature.inputs))
        names = (spec.name for spec in self.signature.outputs)
        return {name: answer.numpy() for name, answer in zip(names, answers, strict=True)}

    def reset(self) -> None:
        """See :meth:`.Runtime.reset`: stateful layers of Keras are not carried over calls here."""


def _spec(tensor: Any) -> TensorSpec:
    return TensorSpec(tensor.name, str(tensor.dtype), tuple(tensor.shape))
