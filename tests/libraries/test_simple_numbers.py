"""The simplest inputs and weights with which a model still shows a finding."""

from types import SimpleNamespace

import numpy as np
import pytest

from asterism.differential.engine.tasks import LayerDescription
from asterism.differential.report.numbers import (
    SIMPLE,
    FilledNumbers,
    find_simplest_numbers,
    literal_array,
    literal_numbers,
    simple_array,
)
from asterism.memo.graphs.store import read_weights
from libraries.small_results import chained, made_finding
from memo.small_graphs import layer

GRAPH = chained((3,), layer("Dense", units=2), layer("ReLU"))
LAYERS = {1: LayerDescription({"units": 2}, [("kernel", (3, 2)), ("bias", (2,))])}
INPUTS = [np.random.default_rng(5).normal(size=(2, 3)).astype(np.float32)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 2)])
def test_an_array_is_what_its_source_says(shape, dtype):
    arrays = [simple_array(form, shape, dtype, 1) for form in SIMPLE]
    special = np.array([np.nan, np.inf, -np.inf, 0.1], dtype)
    for array in (*arrays, literal_array(arrays[-1].values), literal_array(special)):
        read = eval(array.source, {"np": np})
        assert read.dtype == array.values.dtype
        np.testing.assert_array_equal(read, array.values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "bool"])
def test_arrays_that_nobody_reads_are_written_as_their_bytes(dtype):
    values = np.arange(3000).reshape(50, 60).astype(dtype).T
    if dtype.startswith("float"):
        values[3, :3] = np.nan, np.inf, -np.inf
    source = literal_array(values).source
    read = eval(source, {"np": np})
    assert (read.dtype, read.flags.writeable) == (values.dtype, True)
    np.testing.assert_array_equal(read, values)
    assert len(source) < 2 * values.nbytes + 200


class Shows:
    """A finding that shows only with some inputs and weights."""

    def __init__(self, right):
        self.right, self.asked = right, 0

    def look(self, graph, found, *, inputs, weights):
        self.asked += 1
        kernel = dict(read_weights(weights)[graph.nodes[1].weights])["kernel"]
        return SimpleNamespace(
            finding=found if self.right(next(iter(inputs.values()))[0], kernel) else None
        )


@pytest.mark.parametrize(
    ("right", "inputs", "weights"),
    [
        (lambda x, w: True, "np.zeros", "np.ones"),
        (lambda x, w: x.any(), "np.ones", "np.ones"),
        (lambda x, w: x.std() > 0, "np.linspace", "np.ones"),
        (lambda x, w: w.std() > 0, "np.zeros", "np.linspace"),
        (lambda x, w: np.array_equal(x, INPUTS[0]), "np.array", "np.ones"),
        (lambda x, w: w.std() > 0 and w[0, 0] != -1, "np.zeros", "np.random"),
        (lambda x, w: False, "np.array", "np.array"),
        (lambda x, w: w.std() == 0 or np.array_equal(x, INPUTS[0]), "np.zeros", "np.ones"),
    ],
)
def test_the_first_numbers_that_show_a_finding_are_taken(right, inputs, weights):
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    shows = Shows(right)
    found = find_simplest_numbers(shows, GRAPH, made_finding(), known, LAYERS)
    assert found.inputs[0].source.startswith(inputs)
    assert all(array.source.startswith(weights) for array in found.weights[1])
    assert shows.asked <= 11


@pytest.mark.parametrize(
    ("kind", "source"), [("nan", "np.nan"), ("largest", "3e38"), ("empty", "np.array")]
)
def test_special_inputs_stay_special(kind, source):
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    found = find_simplest_numbers(
        Shows(lambda *_: True), GRAPH, made_finding(kind=kind), known, LAYERS
    )
    assert source in found.inputs[0].source


def test_weights_that_are_not_finite_stay_so():
    kernel = np.array([[1, np.nan], [2, 3], [4, 5]], np.float32)
    known = FilledNumbers(
        (literal_array(INPUTS[0]),), {1: (literal_array(kernel), literal_array(kernel[0]))}
    )
    found = find_simplest_numbers(
        Shows(lambda x, w: np.isnan(w).all()), GRAPH, made_finding(), known, LAYERS
    )
    assert [a.source for a in found.weights[1]] == [
        "np.full((3, 2), np.nan, 'float32')",
        "np.full((2,), np.nan, 'float32')",
    ]


def test_weights_that_were_replaced_are_those_of_the_graph():
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    graph, stored = known.stored(GRAPH, LAYERS)
    again = literal_numbers(graph, stored, LAYERS, INPUTS)
    for one, two in zip(known.weights[1], again.weights[1], strict=True):
        np.testing.assert_array_equal(one.values, two.values)
