"""How far each tensor of a compressed graph is from the original's, along the graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import helper

from asterism.localisation.hybrids import original_with_bodies
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import (
    FLOATS,
    Array,
    Run,
    Session,
    first_call,
    number_of_calls,
)
from asterism.models.onnx_graphs import with_outputs

#: Values after which no further run is compared, and those of which memory holds a few copies.
_VALUES, _ROOM = 100_000_000, 40_000_000


@dataclass(frozen=True)
class ValueDeviation:
    """How far values are from the right ones.

    Attributes:
        sqnr_db: signal-to-quantisation-noise ratio ``20·log10(‖x‖ / ‖x − y‖)`` in decibels;
            infinite where they are equal.
        relative_l2: ``‖x − y‖ / ‖x‖``; infinite where only ``x`` is zero, or ``y`` is not finite.
        largest: ``max |x − y|``.
    """

    sqnr_db: float
    relative_l2: float
    largest: float


@dataclass(frozen=True)
class TensorError:
    """A matched tensor's error.

    Attributes:
        tensor: its name in the original.
        node: name of the original's node that makes it; empty for an input.
        operator: that node's type.
        quantised: index of the quantised node in ``pair.nodes`` that makes it, or None.
        cumulative: its difference as it is in the compressed graph.
        own: its difference where the quantised node takes the original's tensors; None where no
            quantised node makes it.
        values: how many it has in a run, on average.
    """

    tensor: str
    node: str
    operator: str
    quantised: int | None
    cumulative: ValueDeviation
    own: ValueDeviation | None
    values: float


@dataclass
class RunningSums:
    """Sums over values that arrive in parts, so that no tensor is kept."""

    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    values: int = 0
    shapes_differ: bool = field(default=False)

    def add(self, wanted: Array, given: Array) -> None:
        """Add a part of the values; values of another shape count as infinitely far."""
        self.values += wanted.size
        if wanted.shape != given.shape:
            self.shapes_differ = True
            return
        if not wanted.size:
            return
        first, given = np.ravel(wanted).astype(np.float64), np.ravel(given)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = first - given
            # Not by BLAS, whose threads wait for each other where others use the processors.
            signal, noise = (float(np.einsum("i,i->", v, v)) for v in (first, difference))
            if not math.isfinite(signal + noise):
                difference = np.abs(difference)
                difference[np.isnan(difference)] = math.inf
                difference[np.equal(first, given)] = 0  # infinities of both
                signal = float(np.sum(np.square(first), where=np.isfinite(first)))
                noise = float(np.square(difference).sum())
        self.signal += signal
        self.noise += noise
        self.largest = max(self.largest, float(difference.max()), -float(difference.min()))

    def difference(self) -> ValueDeviation:
        """The difference of all parts together."""
        if self.shapes_differ:
            return ValueDeviation(-math.inf, math.inf, math.inf)
        if not self.noise:
            return ValueDeviation(math.inf, 0.0, 0.0)
        if not self.signal or not math.isfinite(self.noise):
            return ValueDeviation(-math.inf, math.inf, self.largest)
        ratio = math.sqrt(self.noise / self.signal)
        return ValueDeviation(-20 * math.log10(ratio), ratio, self.largest)


def measure_tensor_errors(pair: MatchedPair, feeds: Iterable[Run]) -> list[TensorError]:
    """Errors of all matched float tensors, in the original's order.

    Both graphs run with every matched tensor as an output, one call after the other, so that memory
    holds the tensors of one call; of large ones, a part at a time. All own errors come from one
    further graph: the original, with each quantised node beside the node that it stands for.

    Of a streaming model both errors are taken over all calls. For cumulative errors each model
    carries its own states, as it does in use. For own errors quantised nodes take the original's
    states: an error in a carried state would turn up in all nodes that follow, in later calls
    also in those before the node that makes it, and would not tell them apart.

    Errors are means over all values of a tensor, so large tensors need few inputs: runs are left
    out once so many values were compared.

    Args:
        pair: the matched pair.
        feeds: inputs of runs, by name.
    """
    runs, graph = list(feeds), pair.opened.original
    floats = [
        tensor
        for tensor in [*graph.inputs, *graph.maker]
        if tensor in pair.tensors and pair.opened.original_types[tensor] in FLOATS
    ]
    sizes = _sizes(pair, floats, runs[0]) if runs else {}
    of_a_run = sum(sizes.values()) * (number_of_calls(runs[0]) if runs else 0)
    runs = runs[: 1 + int(_VALUES / max(1, of_a_run))]
    cumulative = {tensor: RunningSums() for tensor in floats}
    own: dict[str, RunningSums] = {}
    for part in _parts(floats, sizes):
        own |= _compare(pair, part, runs, cumulative)
    by_tensor = {t: i for i, node in enumerate(pair.nodes) for t in node.outputs}
    return [
        _error(pair, tensor, by_tensor.get(tensor), cumulative[tensor], own.get(tensor), len(runs))
        for tensor in _in_order(pair, floats)
    ]


def _sizes(pair: MatchedPair, tensors: Sequence[str], run: Run) -> dict[str, int]:
    """How many values tensors of the original have in the first call of a run."""
    graph = pair.opened.original
    made = [tensor for tensor in tensors if tensor in graph.maker]
    names = {tensor: f"size/{number}" for number, tensor in enumerate(made)}
    model = with_outputs(graph.model, list(names.values()))
    for tensor, name in names.items():
        model.graph.node.append(helper.make_node("Size", [tensor], [name]))
    session, feed = Session(model, "the original", optimised=False), first_call(run)
    found = session.run(feed, list(names.values()))
    given = session.given(feed)
    sizes = {tensor: int(found[name]) for tensor, name in names.items()}
    return {tensor: sizes[tensor] if tensor in sizes else given[tensor].size for tensor in tensors}


def _parts(tensors: Sequence[str], sizes: Mapping[str, int]) -> list[list[str]]:
    """Tensors in parts that memory has room for."""
    parts: list[list[str]] = [[]]
    room = _ROOM
    for tensor in tensors:
        size = sizes.get(tensor, 0)
        if size > room and parts[-1]:
            parts.append([])
            room = _ROOM
        parts[-1].append(tensor)
        room -= size
    return parts


def _compare(
    pair: MatchedPair,
    tensors: Sequence[str],
    runs: Sequence[Run],
    cumulative: dict[str, RunningSums],
) -> dict[str, RunningSums]:
    """Add to cumulative differences of tensors; their own ones, where a quantised node has some."""
    opened = pair.opened
    model, bodies = original_with_bodies(pair, tensors)
    reference = Session(model, "the original with quantised nodes beside it", optimised=False)
    finals = {tensor: pair.tensors[tensor].final[0] for tensor in tensors}
    wanted = sorted({name for name in finals.values() if name in opened.compressed.maker})
    compressed_model = with_outputs(opened.compressed.model, wanted)
    compressed = Session(compressed_model, "the compressed model", optimised=False)
    own = {tensor: RunningSums() for tensor in bodies}
    states = dict(zip(opened.original.outputs, opened.compressed.outputs, strict=True))
    for feed in runs:
        calls = zip(reference.calls(feed), compressed.calls(feed, states), strict=True)
        for values, theirs in calls:
            for tensor in tensors:
                cumulative[tensor].add(values[tensor], theirs[finals[tensor]])
            for tensor, sums in own.items():
                sums.add(values[tensor], values[bodies[tensor]])
    return own


def _in_order(pair: MatchedPair, tensors: Sequence[str]) -> list[str]:
    makers = pair.opened.original.maker
    return sorted(tensors, key=lambda tensor: makers.get(tensor, -1))


def _error(
    pair: MatchedPair,
    tensor: str,
    quantised: int | None,
    cumulative: RunningSums,
    own: RunningSums | None,
    runs: int,
) -> TensorError:
    graph = pair.opened.original
    index = graph.maker.get(tensor)
    return TensorError(
        tensor,
        "" if index is None else graph.name_of(index),
        "" if index is None else graph.nodes[index].op_type,
        quantised,
        cumulative.difference(),
        None if own is None else own.difference(),
        cumulative.values / max(1, runs),
    )


def measure_own_noise(pair: MatchedPair, errors: Sequence[TensorError]) -> list[float]:
    """For each quantised node in order, the largest relative error of its own outputs."""
    noise = [0.0] * len(pair.nodes)
    for error in errors:
        if error.quantised is not None and error.own is not None:
            noise[error.quantised] = max(noise[error.quantised], error.own.relative_l2)
    return noise
