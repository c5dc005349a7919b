"""Narrowing the wide layers of seed models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.differential.reducing.reduce import WIDTHS, keeps, narrowed, reduce_model
from asterism.differential.reducing.seeds import make_seed_model
from asterism.memo.graphs.coverage import elements_of
from asterism.memo.graphs.graph import Graph, Node, input_node, sequential
from asterism.memo.graphs.keras_build import build
from asterism.memo.graphs.keras_read import graph_of
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer


def widths(graph):
    return [n.config[w] for n in graph.nodes.values() for w in WIDTHS if w in n.config]


def convolutions(filters, units):
    return sequential(
        Tensor((8, 8, 2)),
        [
            layer("Conv2D", filters=filters, kernel_size=[3, 3]),
            layer("BatchNormalization"),
            layer("Flatten"),
            layer("Dense", units=units),
        ],
    )


def recurrent(units, more):
    return sequential(Tensor((6, 3)), [layer("LSTM", units=units), layer("Dense", units=more)])


def added(units, behind):
    """Two branches that have to meet."""
    wide = {"units": units, "dtype": "float32"}
    return Graph(
        {
            0: input_node((6,)),
            1: Node("Dense", wide, (0,), seed=1),
            2: Node("Dense", {**wide, "activation": "tanh"}, (0,), seed=2),
            3: Node("Add", {"dtype": "float32"}, (1, 2)),
            4: Node("Dense", {**wide, "units": behind}, (3,), seed=3),
        }
    )


@pytest.mark.parametrize("make", [convolutions, recurrent, added])
@given(st.integers(21, 50), st.integers(21, 50), st.integers(11, 50))
def test_no_layer_stays_wider_and_nothing_else_changes(make, first, last, width):
    graph = make(first, last)
    smaller = narrowed(graph, width)
    assert widths(smaller) == [min(w, width) for w in widths(graph)]
    assert [n.type for n in smaller.nodes.values()] == [n.type for n in graph.nodes.values()]
    assert [n.inputs for n in smaller.nodes.values()] == [n.inputs for n in graph.nodes.values()]


def test_a_graph_of_narrow_layers_stays_as_it_is():
    assert narrowed(added(12, 10), 12) == added(12, 10)


def test_what_coverage_counts_stays():
    """A dense layer of ten units is an option of its own, which eight would lose."""
    assert widths(narrowed(recurrent(40, 10), 8)) == [8, 10]


def test_layers_that_cannot_be_narrowed_stay_wide_and_others_do_not():
    """A reshape to a fixed size behind the first layer needs all of its units."""
    graph = sequential(
        Tensor((3,)),
        [
            layer("Dense", units=24),
            layer("Reshape", target_shape=[8, 3]),
            layer("Flatten"),
            layer("Dense", units=40),
        ],
    )
    assert widths(narrowed(graph, 12)) == [24, 12]


def test_channels_that_are_left_keep_their_weights():
    """The first channels of a layer that was read, and of what reads it."""
    import keras

    model = keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(29), keras.layers.Dense(2, name="end")]
    )
    graph, stored = graph_of(model, 4)
    first, _, second, _ = model.get_weights()
    weights = build(narrowed(graph, 12), stored).get_weights()
    np.testing.assert_array_equal(weights[0], first[:, :12])
    np.testing.assert_array_equal(weights[2], second[:12])


@pytest.mark.parametrize("name", ["lenet5", "alexnet"])
def test_seed_models_lose_weights_and_no_coverage(name):
    graph = reduce_model(graph_of(make_seed_model(name, 0), 16)[0])
    smaller = narrowed(graph, 20)
    assert max(widths(smaller)) <= 20
    assert keeps(smaller, elements_of(graph))
    assert build(smaller).count_params() < build(graph).count_params()
