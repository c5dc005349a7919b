"""The interface of a model whose tests are judged by what its neurons do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.methods import PixelNetwork
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import Composite

Floats = NDArray[np.float32]
#: Of a batch of inputs, the neurons of some layers, ``(N, neurons)`` each, and the outputs.
Recorder = Callable[[NDArray[np.generic]], tuple[list[Floats], Floats]]
#: Of a batch of inputs, the scores ``(N, K)`` and the relevance of a layer's neurons for the
#: winner, ``(N, neurons)``.
Explainer = Callable[[NDArray[np.generic]], tuple[Floats, Floats]]
#: Of pictures, uint8 ``(N, H, W, C)``, the relevance of their pixels for the scores of the given
#: classes, ``(N, H, W)``: summed over channels.
PixelExplainer = Callable[[NDArray[np.uint8], NDArray[np.int64]], Floats]


#: Rows of a batch that goes through a whole network at once, where the model takes any number.
_ROWS = 128


def over_batches(
    function: Callable[[NDArray[np.int64]], Sequence[Floats]], items: int, fixed: int | None
) -> list[Floats]:
    """What a function of a batch gives, of all items.

    Args:
        function: from the numbers of a batch's items, arrays with a row for each.
        items: how many there are.
        fixed: rows that each batch must have, where the last item fills up the last batch; None
            for any number.
    """
    size, parts = fixed or _ROWS, []
    for start in range(0, items, size):
        rows = np.arange(start, start + size if fixed else min(start + size, items))
        values = function(rows.clip(max=items - 1))
        parts.append([value[: items - start] for value in values])
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def are_pictures(items: NDArray[np.generic]) -> bool:
    """Whether inputs are pictures, uint8 ``(N, H, W, C)``; a model takes all others as they are."""
    return items.dtype == np.uint8 and items.ndim == 4


class JudgedModel(ABC):
    """A model with one input and one output, whose layers have neurons.

    A feature map is one neuron, whose activation is its mean over places and whose relevance is
    its sum.

    Attributes:
        name: what messages call it.
        layers: names of its layers, in the model's order.
        outputs: how many numbers it gives an input: a score for each class, or one of a regressor.
    """

    name: str
    layers: Sequence[str]
    outputs: int

    @property
    def classifies(self) -> bool:
        """Whether the model has a score for each of several classes."""
        return self.outputs > 1

    @abstractmethod
    def require(self, items: NDArray[np.generic]) -> None:
        """Reject inputs ``(N, …)`` of a shape that the model does not take.

        Raises:
            UserError: it names both shapes.
        """

    @abstractmethod
    def hidden_layers(self) -> list[str]:
        """Names of layers that have an activation and are not the output's.

        Where no layer has one, those with weights.

        Raises:
            UserError: there is none.
        """

    @abstractmethod
    def shape(self, layer: str) -> tuple[int | None, ...]:
        """Sizes of a layer's output, its neurons on the last axis; the batch's is None."""

    @abstractmethod
    def recorder(self, layers: Sequence[str]) -> Recorder:
        """A function that records the activations of neurons."""

    @abstractmethod
    def explainer(self, layer: str, composite: Composite) -> Explainer:
        """A function that gives the relevance of a layer's neurons.

        Raises:
            NoRelevanceError: relevance cannot pass an operation behind the layer.
        """

    @abstractmethod
    def pixel_explainer(self, composite: Composite) -> PixelExplainer:
        """A function that gives the relevance of pixels.

        Raises:
            NoRelevanceError: relevance cannot pass an operation of the model.
        """

    @abstractmethod
    def on_pixels(self) -> PixelNetwork:
        """A classifier of pictures as attacks see it.

        Raises:
            UserError: it takes something else, or a fixed number of inputs at once.
        """

    def find_layer(self, wanted: str | int | None) -> str:
        """Name of the subject layer.

        Args:
            wanted: name, index in :attr:`layers` (negative from the end), or None for the last
                hidden layer with an activation.

        Raises:
            UserError: no such layer; the message lists the layers.
        """
        if wanted is None:
            return self.hidden_layers()[-1]
        if isinstance(wanted, int) and -len(self.layers) <= wanted < len(self.layers):
            wanted = self.layers[wanted]
        if wanted not in self.layers:
            raise UserError(f"the model {self.name!r} has no layer {wanted!r} {self.listed}")
        return str(wanted)

    @property
    def listed(self) -> str:
        """A list of all layers, for messages."""
        numbered = ", ".join(f"{i} {name}" for i, name in enumerate(self.layers))
        return f"(its layers: {numbered})"
