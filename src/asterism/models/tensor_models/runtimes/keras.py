"""Keras files of any signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras
from asterism.models.signatures.keras import keras_signature
from asterism.models.signatures.kinds import kind_of_inputs
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.tensor_models.runtime import RUNTIMES, Runtime, Tensors
from asterism.models.tensor_models.runtimes.onnx import OnnxRuntime


@RUNTIMES.register("keras")
class KerasRuntime:
    """A Keras model: an image classifier as its ONNX export, everything else in Keras itself.

    ONNX Runtime gives a row the same bytes in every batch, several times faster. The export is
    taken only where it computes what Keras does.
    """

    suffixes: ClassVar[tuple[str, ...]] = KERAS_SUFFIXES

    def __init__(self, path: Path) -> None:
        export = _export_of(path)
        self._inner: Runtime = _InKeras(path) if export is None else OnnxRuntime(export)
        self.signature = self._inner.signature
        self.fixed_batch = self._inner.fixed_batch
        ours, named = self.signature.outputs, keras_signature(path).outputs
        # An export names its output anew, and Keras by a counter.
        if len(ours) == len({n.name for n in named}) == len(named):
            outputs = tuple(replace(o, name=n.name) for o, n in zip(ours, named, strict=True))
            self.signature = replace(self.signature, outputs=outputs)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        found = self._inner.run(inputs).values()
        names = (spec.name for spec in self.signature.outputs)
        return dict(zip(names, found, strict=True))

    def reset(self) -> None:
        """See :meth:`.Runtime.reset`: stateful layers of Keras are not carried over calls here."""


class _InKeras:
    """A Keras model on TensorFlow, compiled once for all batches."""

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
        """See :meth:`.Runtime.reset`."""


def _export_of(path: Path) -> Path | None:
    """The ONNX export of a classifier of images; None of any other model."""
    if kind_of_inputs(keras_signature(path))[0] != "images":
        return None
    from asterism.models.classifiers.formats.keras import faithful_export

    try:
        return faithful_export(path)
    except UserError:  # no classifier: it has several inputs, or no row of scores
        return None


def _spec(tensor: Any) -> TensorSpec:
    return TensorSpec(tensor.name, str(tensor.dtype), tuple(tensor.shape))
