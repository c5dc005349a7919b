"""Running a network with Keras itself, for whatever ONNX graphs cannot express."""

from __future__ import annotations

from typing import Any

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.models.recurrent.keras_layers import is_recurrent, kind, sequence_shape
from asterism.models.recurrent.model import Floats, Inputs
from asterism.models.runtimes.keras_runtime import KerasRuntime


class KerasEngine:
    """A Keras model and the states of one of its layers, computed together.

    Args:
        model: any Keras model whose layers have symbolic inputs and outputs.
        profiled: the layer; a recurrent one that gives its last state only is run once more, with
            the same weights, to give all of them.
    """

    threads = False
    batch: int | None = None

    def __init__(self, model: Any, profiled: Any) -> None:
        import keras

        self.layer = profiled.name
        self.steps, self.features, self.numbers = sequence_shape(model)
        try:
            states = _every_step(profiled)
            both = keras.Model(model.inputs, [model.outputs[0], states])
        except (AttributeError, ValueError) as error:
            raise UserError(f"the states of {profiled.name} cannot be read: {error}") from error
        self._runtime = KerasRuntime(both)
        (self._input,) = (spec.name for spec in self._runtime.signature.inputs)

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        outputs, states = self._runtime.run({self._input: sequences}).values()
        return np.asarray(outputs, np.float32), np.asarray(states, np.float32)


def _every_step(layer: Any) -> Any:
    """A symbolic tensor ``(N, T, H)``."""
    if not is_recurrent(layer) or (kind(layer) != "Bidirectional" and layer.return_sequences):
        return layer.output
    config = {**layer.get_config(), "name": f"{layer.name}_every_step"}
    if kind(layer) == "Bidirectional":
        for direction in ("layer", "backward_layer"):
            if config.get(direction):
                config[direction]["config"]["return_sequences"] = True
        config["merge_mode"] = "concat"
    else:
        config["return_sequences"] = True
    twin = type(layer).from_config(config)
    sequences, *mask = layer.input if isinstance(layer.input, list) else [layer.input]
    states = twin(sequences, mask=mask[0]) if mask else twin(sequences)
    twin.set_weights(layer.get_weights())
    return states
