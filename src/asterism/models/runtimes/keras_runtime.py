"""A Keras model in memory, run by TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from asterism.models.runtimes.runtime import Runtime, Tensors
from asterism.models.signatures.signature import Signature, TensorSpec

if TYPE_CHECKING:
    import keras


class KerasRuntime(Runtime):
    """A Keras model on TensorFlow, compiled once for all batches.

    TensorFlow's kernels give other last bits for other batch sizes.
    """

    varies_in = "Keras"

    def __init__(self, model: keras.Model) -> None:
        import tensorflow as tf

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


def _spec(tensor: Any) -> TensorSpec:
    return TensorSpec(tensor.name, str(tensor.dtype), tuple(tensor.shape))
