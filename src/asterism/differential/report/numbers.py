"""Inputs and weights of a minimal model: the simplest that still show the finding.

A maintainer reads ``np.ones((2, 4))`` at a glance. So zeros, ones, a ramp and a seeded normal
sample are tried in this order, first in place of the inputs, then of each layer's weights. What no
longer shows the finding is written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.engine.tasks import LayerDescription
from asterism.differential.oracle.finding import Finding
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import weights_file
from asterism.memo.graphs.weights import NamedArray, Stored, Variable, layer_weights


@dataclass(frozen=True)
class ArrayExpression:
    """An array, and the Python expression that gives it."""

    values: NDArray[Any]
    source: str

    @classmethod
    def of(cls, source: str) -> ArrayExpression:
        """The array that a Python expression of this module gives."""
        return cls(eval(source, {"np": np}), source)  # noqa: S307


@dataclass(frozen=True)
class FilledNumbers:
    """The numbers with which a script fills a model.

    Args:
        inputs: a batch for each input.
        weights: the weights of each layer that has some, by its node, in Keras' order.
    """

    inputs: tuple[ArrayExpression, ...]
    weights: Mapping[int, tuple[ArrayExpression, ...]]

    def stored(
        self, graph: Graph, layers: Mapping[int, LayerDescription]
    ) -> tuple[Graph, dict[str, list[NamedArray]]]:
        """The graph whose nodes name the weights, and the weights by that name."""
        nodes = dict(graph.nodes)
        arrays: dict[str, list[NamedArray]] = {}
        for node, many in self.weights.items():
            name = f"simple-{node}"
            nodes[node] = replace(nodes[node], weights=name, edits=())
            names = (variable for variable, _ in layers[node].variables)
            values = (array.values.astype(np.float32) for array in many)
            arrays[name] = list(zip(names, values, strict=True))
        return graph.with_nodes(nodes), arrays


Shape = tuple[int, ...]

#: Simple arrays, the simplest first; one has a number among those of a script.
ZEROS = "np.zeros({shape}, {dtype!r})"
ONES = "np.ones({shape}, {dtype!r})"
RAMP = "np.linspace(-1, 1, {size}, dtype={dtype!r}).reshape({shape})"
NORMAL = "np.random.default_rng({number}).normal(size={shape}).astype({dtype!r})"
SIMPLE = ZEROS, ONES, RAMP, NORMAL

#: In place of zeros, the special numbers of some kinds of inputs.
_SPECIAL = {"nan": "np.nan", "infinity": "np.inf", "denormal": "1e-40", "largest": "3e38"}


def simple_array(form: str, shape: Shape, dtype: str, number: int = 0) -> ArrayExpression:
    """An array of one of the simple forms."""
    return ArrayExpression.of(
        form.format(shape=shape, dtype=dtype, number=number, size=prod(shape))
    )


def placeholder_numbers(known: FilledNumbers) -> FilledNumbers:
    """Ones as inputs, and the weights that a layer begins with: where no number matters."""
    inputs = (simple_array(ONES, a.values.shape, str(a.values.dtype)) for a in known.inputs)
    return FilledNumbers(tuple(inputs), {})


#: Numbers that somebody may read. Python takes 2 GB to parse a million of them.
_READABLE = 2000


def literal_array(values: NDArray[Any]) -> ArrayExpression:
    """An array written out: number by number, or as its bytes where there are too many to read."""
    dtype = str(values.dtype)
    if values.size == 0:
        return simple_array(ZEROS, values.shape, dtype)
    if values.size > _READABLE:
        content = f"bytes.fromhex({values.tobytes().hex()!r})"
        return ArrayExpression(
            values, f"np.frombuffer({content}, {dtype!r}).reshape({values.shape}).copy()"
        )
    numbers = repr(values.reshape(-1).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return ArrayExpression(values, f"np.array({numbers}, {dtype!r}).reshape({values.shape})")


def literal_numbers(
    graph: Graph,
    stored: Stored,
    layers: Mapping[int, LayerDescription],
    inputs: Sequence[NDArray[Any]],
) -> FilledNumbers:
    """The numbers with which the finding was seen, written out."""
    weights = {
        i: tuple(map(literal_array, layer_weights(graph.nodes[i], said.variables, stored)))
        for i, said in layers.items()
        if said.variables and i in graph.nodes
    }
    return FilledNumbers(tuple(map(literal_array, inputs)), weights)


def find_simplest_numbers(
    show: Reproduction,
    graph: Graph,
    finding: Finding,
    known: FilledNumbers,
    layers: Mapping[int, LayerDescription],
) -> FilledNumbers:
    """The simplest numbers that were found with which a model still shows its finding.

    Args:
        show: runs the model.
        graph: the minimal model.
        finding: as it shows there.
        known: numbers that show it.
        layers: what Keras says of each layer.
    """
    kind = finding.distributions[0] if finding.distributions else "normal"

    def shows(numbers: FilledNumbers) -> bool:
        named, stored = numbers.stored(graph, layers)
        inputs = {kind: [array.values for array in numbers.inputs]}
        with weights_file(stored) as weights:
            found = show.look(named, finding, inputs=inputs, weights=weights).finding
        return found is not None and found.library == finding.library

    def with_simple_inputs(numbers: FilledNumbers) -> FilledNumbers:
        shapes = [(a.values.shape, str(a.values.dtype)) for a in numbers.inputs]
        tried = (replace(numbers, inputs=inputs) for inputs in simple_inputs(kind, shapes))
        return next(filter(shows, tried), numbers)

    simpler = with_simple_inputs(known)
    for form in SIMPLE[1:]:
        weights = {i: _like(m, layers[i].variables, form) for i, m in known.weights.items()}
        if weights and shows(replace(simpler, weights=weights)):
            simpler = replace(simpler, weights=weights)
            # Of simple weights simple inputs may show it, which of the others showed nothing.
            return with_simple_inputs(simpler) if simpler.inputs is known.inputs else simpler
    return simpler


def simple_inputs(
    kind: str, shapes: Sequence[tuple[Shape, str]]
) -> list[tuple[ArrayExpression, ...]]:
    """Simple inputs to try, the simplest first.

    Args:
        kind: the kind of the inputs that show a finding.
        shapes: shape and dtype of each.
    """
    floating = all("float" in dtype for _, dtype in shapes)
    simple = [
        tuple(simple_array(form, shape, dtype, at) for at, (shape, dtype) in enumerate(shapes))
        for form in (SIMPLE if floating else SIMPLE[:1])
    ]
    if kind == "empty" or (kind in _SPECIAL and not floating):
        return []
    if kind not in _SPECIAL:
        return simple
    number = _SPECIAL[kind]
    full = tuple(_filled(number, shape, dtype) for shape, dtype in shapes)
    ramps, drawn = simple[2:]
    places = (0, -1, ramps[0].values.size // 2) if ramps else ()
    return [
        full,
        *([(full[0], *ramps[1:])] if len(full) > 1 else []),
        *(
            tuple(_with_one(array, number, place) for array in arrays)
            for arrays in (ramps, drawn)
            for place in places
        ),
    ]


def _filled(number: str, shape: Shape, dtype: str) -> ArrayExpression:
    """An array of one number, as a script writes it."""
    return ArrayExpression.of(f"np.full({shape}, {number}, {dtype!r})")


def _with_one(array: ArrayExpression, number: str, place: int) -> ArrayExpression:
    """The array with a special number at a place of its elements in their order."""
    shape, size = array.values.shape, array.values.size
    at = (place if place < size else 0) % size
    condition = f"np.arange({size}).reshape({shape}) == {at}"
    put = f"np.where({condition}, {number}, {array.source})"
    return ArrayExpression.of(f"{put}.astype({str(array.values.dtype)!r})")


def _like(
    arrays: Sequence[ArrayExpression], variables: Sequence[Variable], form: str
) -> tuple[ArrayExpression, ...]:
    """Simple weights of a layer; variances stay above zero, and NaN and infinity what they are."""
    simple = []
    for at, (array, (name, _)) in enumerate(zip(arrays, variables, strict=True)):
        shape = array.values.shape
        special = array.values[~np.isfinite(array.values)]
        if special.size:  # it shows with such weights
            number = special.reshape(-1)[0]
            text = "np.nan" if np.isnan(number) else "np.inf" if number > 0 else "-np.inf"
            simple.append(_filled(text, shape, "float32"))
            continue
        positive = "variance" in name or not shape
        simple.append(simple_array(ONES if positive else form, shape, "float32", at))
    return tuple(simple)
