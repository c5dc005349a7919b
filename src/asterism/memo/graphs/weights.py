"""Weights of a graph's layers: the same numbers in every library, without asking any of them.

Initial weights differ between Keras' backends for the same seed. So a layer's weights are drawn
here, variable by variable, from the node's own seed, or taken from stored arrays (a model that
was read); then the node's edits are applied. Every process that builds the graph gets the same.
Stored arrays carry the names of their variables: a layer whose configuration was mutated may have
other variables than the one that was read.

Edits fuzz, shuffle, block, invert and switch weights, as DeepMutation and LEMON do, or make one of
them no ordinary number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import stream
from asterism.memo.graphs.graph import SPECIAL, Graph, Node

Array = NDArray[np.float32]
#: The array of one of a layer's variables, with the variable's name.
NamedArray = tuple[str, Array]
#: The same, as it is filled.
Arrays = dict[str, list[NamedArray]]
#: Arrays of layers that were read, by the name that ``Node.weights`` gives, in Keras' order.
Stored = Mapping[str, Sequence[NamedArray]]

#: Name and shape of one of a layer's variables.
Variable = tuple[str, tuple[int, ...]]

#: Mutations of a layer's arrays; each gets copies that it may change, and returns them.
WeightEditor = Callable[[list[Array], np.random.Generator], list[Array]]
WEIGHT_EDITS: Registry[WeightEditor] = Registry("weight edit")


def layer_weights(node: Node, variables: Sequence[Variable], stored: Stored) -> list[Array]:
    """Arrays for a layer's variables.

    Args:
        node: the layer.
        variables: the variables of the layer, in Keras' order (:func:`variables_of`).
        stored: arrays that nodes may name.

    Returns:
        float32 arrays of those shapes.
    """
    kept = match_stored_arrays(
        variables, stored.get(node.weights, ()) if node.weights is not None else ()
    )
    arrays = []
    for index, ((name, shape), array) in enumerate(zip(variables, kept, strict=True)):
        if array is not None and array.ndim == len(shape) and array.size:
            arrays.append(fit_to_shape(array, shape).copy())  # edits write into theirs
        else:
            arrays.append(draw_weights(name, shape, stream(node.seed, "weights", index)))
    for edit in node.edits:
        arrays = WEIGHT_EDITS[edit.kind](arrays, stream(edit.seed, "edit"))
    return [np.asarray(a, np.float32, order="C") for a in arrays]


def match_stored_arrays(
    variables: Sequence[Variable], stored: Sequence[NamedArray]
) -> list[Array | None]:
    """The stored array of each variable, by name; None where there is none.

    A layer may have several variables of one name (the two directions of a recurrent layer). They
    are told apart by their order, and only where as many are stored.
    """
    wanted = Counter(name for name, _ in variables)
    kept = {name: [a for n, a in stored if n == name] for name in wanted}
    left = {name: iter(arrays) for name, arrays in kept.items() if len(arrays) == wanted[name]}
    return [next(left.get(name, iter(())), None) for name, _ in variables]


def fit_to_shape(array: Array, shape: tuple[int, ...]) -> Array:
    """The stored array cut, or repeated, to a shape of as many axes.

    A layer whose neighbour went away may see another number of channels; it keeps the weights
    of the channels that it still has.
    """
    for axis, size in enumerate(shape):
        if array.shape[axis] != size:
            array = np.take(array, np.arange(size) % array.shape[axis], axis=axis)
    return array


def variables_of(layer: Any) -> list[Variable]:
    """Name and shape of each weight of a Keras layer."""
    return [(v.path.rsplit("/", 1)[-1], tuple(v.shape)) for v in layer.weights]


def named_arrays_of(layer: Any) -> list[NamedArray]:
    """The weights of a Keras layer, each with the name of its variable."""
    arrays = (np.asarray(a, np.float32) for a in layer.get_weights())
    return [(name, a) for (name, _), a in zip(variables_of(layer), arrays, strict=True)]


def draw_weights(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Scales around 1, variances above 0, matrices as Glorot draws them, vectors not all zero."""
    if "variance" in name or "gamma" in name or name.endswith("scale"):
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if len(shape) < 2:
        return rng.uniform(-0.5, 0.5, shape).astype(np.float32)
    receptive = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    limit = np.sqrt(6.0 / max((shape[-2] + shape[-1]) * receptive, 1))
    return rng.uniform(-limit, limit, shape).astype(np.float32)


#: What the edit of a special weight draws from, each with the kind of inputs that it is like.
KINDS = ((np.nan, "nan"), (np.inf, "infinity"), (-np.inf, "infinity"), (1e30, "largest"))

#: A weight beyond this is all but too large.
_LARGE = 1e20


def special_kinds(graph: Graph) -> tuple[str, ...]:
    """The kinds of special numbers that edits put into a model's weights."""
    edits = [e for node in graph.nodes.values() for e in node.edits if e.kind == SPECIAL]
    drawn = (int(stream(edit.seed, "edit").integers(len(KINDS))) for edit in edits)
    return tuple(sorted({KINDS[number][1] for number in drawn}))


def special_kinds_in(arrays: Iterable[Array]) -> tuple[str, ...]:
    """The kinds of special numbers in some weights."""
    found = set()
    for array in arrays:
        found |= {"nan"} if np.isnan(array).any() else set()
        found |= {"infinity"} if np.isinf(array).any() else set()
        finite = array[np.isfinite(array)]
        found |= {"largest"} if (np.abs(finite) > _LARGE).any() else set()
    return tuple(sorted(found))


def _neurons(array: Array, rng: np.random.Generator, count: int) -> list[int]:
    """Indices of some output channels: the last axis of a kernel or a bias."""
    return [int(i) for i in rng.permutation(array.shape[-1])[:count]]


@WEIGHT_EDITS.register("gaussian_fuzz")
def gaussian_fuzz(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """GF: noise of a tenth of the weights' own spread."""
    return [
        a + rng.normal(0, 0.1 * float(a.std()) + 1e-6, a.shape).astype(np.float32)
        if a.ndim > 1
        else a
        for a in arrays
    ]


@WEIGHT_EDITS.register("weight_shuffle")
def weight_shuffle(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """WS: the weights of one neuron change places."""
    for a in arrays:
        if a.ndim > 1:
            (neuron,) = _neurons(a, rng, 1)
            values = a[..., neuron].reshape(-1)
            a[..., neuron] = rng.permutation(values).reshape(a.shape[:-1])
    return arrays


@WEIGHT_EDITS.register("neuron_block")
def neuron_block(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NEB: one neuron has no effect."""
    for a in arrays:
        if a.ndim > 1:
            a[..., _neurons(a, rng, 1)[0]] = 0
    return arrays


@WEIGHT_EDITS.register("neuron_inversion")
def neuron_inversion(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NAI: one neuron changes its sign."""
    for a in arrays:
        if a.ndim > 1:
            a[..., _neurons(a, rng, 1)[0]] *= -1
    return arrays


@WEIGHT_EDITS.register("neuron_switch")
def neuron_switch(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NS: two neurons change places."""
    for a in arrays:
        if a.ndim > 1 and a.shape[-1] > 1:
            one, two = _neurons(a, rng, 2)
            a[..., [one, two]] = a[..., [two, one]]
    return arrays


@WEIGHT_EDITS.register(SPECIAL)
def set_special_number(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NaN: one weight of the layer becomes NaN, plus or minus infinity, or 1e30."""
    number, _ = KINDS[int(rng.integers(len(KINDS)))]  # first, as `special_kinds` draws it
    filled = [a for a in arrays if a.size]
    if filled:
        chosen = filled[int(rng.integers(len(filled)))]
        chosen.reshape(-1)[int(rng.integers(chosen.size))] = number
    return arrays
