"""A classifier's scores before its softmax."""

from __future__ import annotations

from typing import Any

import keras

from asterism.models.flattening import flattened


class Logits:
    """Calls a Keras classifier up to its final softmax.

    The softmax may be a layer of its own or the activation of the last layer; a model that ends
    otherwise is called as it is. Models inside it are opened to find it.

    Args:
        model: functional or sequential, with one output.
    """

    def __init__(self, model: keras.Model) -> None:
        model = flattened(model)
        last = model.layers[-1]
        self._model = model
        self._body: keras.Model | None = None
        self._last = last
        if isinstance(last, keras.layers.Softmax) or _is_softmax(last):
            self._body = keras.Model(model.inputs, last.input)

    def __call__(self, x: Any) -> Any:
        """Scores ``(N, K)`` of a batch, differentiable."""
        if self._body is None:
            return self._model(x, training=False)
        before = self._body(x, training=False)
        if not hasattr(self._last, "kernel"):
            return before
        scores = keras.ops.matmul(before, self._last.kernel)
        return scores + self._last.bias if self._last.use_bias else scores


def _is_softmax(layer: Any) -> bool:
    activation = getattr(layer, "activation", None)
    kind = type(layer).__name__
    return activation is keras.activations.softmax and kind in ("Dense", "Activation")
