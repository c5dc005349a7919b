"""Single facts of graphs and of the older operators, on graphs small enough to see through."""

import numpy as np
import pytest

from asterism.memo.generating.operator import OPERATORS, Context
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import branching, convolutional, layer, recurrent


@pytest.mark.parametrize(
    ("graph", "elements"),
    [(convolutional(), 12 * 12 * 4), (recurrent(), 6 * 4), (branching(), 6)],
)
def test_the_largest_tensor_is_counted_in_elements(graph, elements):
    assert graph.largest == elements


def test_a_copied_layer_reads_the_original_and_its_readers_read_the_copy():
    graph = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=2)])
    copied = OPERATORS["LC"].mutate(graph, Context(np.random.default_rng(0)))
    (new,) = copied.nodes.keys() - graph.nodes.keys()
    relu, dense = graph.layers
    assert copied.nodes[new].type == "ReLU" and copied.nodes[new].inputs == (relu,)
    assert copied.nodes[new].seed == graph.nodes[relu].seed, "with the same weights"
    assert copied.nodes[dense].inputs == (new,)


def test_a_copied_last_layer_is_the_output():
    graph = sequential(Tensor((4,)), [layer("Dense", units=2), layer("ReLU")])
    copied = OPERATORS["LC"].mutate(graph, Context(np.random.default_rng(0)))
    (output,) = copied.outputs
    assert output not in graph.nodes and copied.nodes[output].inputs == graph.outputs
