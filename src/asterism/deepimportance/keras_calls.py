"""Calls of Keras' layers: the nodes of a model's graph, with what each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf


class ImpassableLayerError(Exception):
    """Relevance cannot pass a layer; the message says why, behind the layer's name."""


@dataclass(frozen=True)
class LayerCall:
    """A node of a model's graph, as a function of the tensors that it takes.

    Attributes:
        node: Keras' own: a layer or an operation of ``keras.ops``, its arguments and outputs.
        picked: which of several outputs is meant.
    """

    node: Any
    picked: int = 0

    @property
    def layer(self) -> Any:
        """The layer or operation."""
        return self.node.operation

    @property
    def kind(self) -> str:
        """The name of the layer's class."""
        return type(self.layer).__name__

    @property
    def tensors(self) -> list[Any]:
        """The symbolic tensors that it takes, in the order of its arguments."""
        return list(self.node.arguments.keras_tensors)

    @property
    def operands(self) -> list[Any]:
        """All its arguments, lists of them opened: symbolic tensors and constants."""
        given = self.node.arguments
        return list(keras.tree.flatten((given.args, given.kwargs)))

    def argument(self, name: str) -> Any:
        """An argument by its name; None where it is not given."""
        given = self.node.arguments
        bound = inspect.signature(self.layer.call).bind(*given.args, **given.kwargs)
        return bound.arguments.get(name)

    def outputs(self, *xs: Any, **changes: Any) -> list[Any]:
        """All outputs at inference, for values of the tensors.

        Args:
            xs: one for each of :attr:`tensors`. A network's input is real numbers, so tokens
                become integers again where the graph has integers.
            changes: other values of arguments.
        """
        pairs = zip(self.tensors, xs, strict=True)
        given = {id(t): tf.cast(x, t.dtype) if "int" in t.dtype else x for t, x in pairs}
        args, kwargs = self.node.arguments.fill_in(given)
        kwargs.pop("training", None)
        return list(keras.tree.flatten(self.layer(*args, **(kwargs | changes))))

    def __call__(self, *xs: Any) -> Any:
        """The output that is meant; real numbers have the dtype of those that it is given."""
        found = self.outputs(*xs)[self.picked]
        real = [x.dtype for x in xs if x.dtype.is_floating]
        return tf.cast(found, real[0]) if real and found.dtype.is_floating else found

    @property
    def masked(self) -> bool:
        """Whether the layer leaves out steps by a mask, which Keras hands on beside the graph."""
        given = any(getattr(t, "_keras_mask", None) is not None for t in self.tensors)
        # At inference, batch normalisation has no use for its mask.
        if not given or self.kind == "BatchNormalization":
            return False
        names = inspect.signature(self.layer.call).parameters
        return any(name.endswith("mask") for name in names)

    def computed_from(self, graph: Any) -> Callable[..., Any]:
        """The output that is meant, as a function whose last argument is the model's input.

        Args:
            graph: the model, whose layers hand on masks when they are called one after the other.
        """
        whole = keras.Model(graph.inputs, self.node.outputs[self.picked])
        return lambda *xs: tf.cast(whole(xs[-1], training=False), xs[-1].dtype)
