"""What an operator aims at, what it draws, and the shapes that repairs bring about."""

from contextlib import suppress

import pytest

from asterism.core.randomness.random_streams import stream
from asterism.memo.generating.operator import Context, configured, insert
from asterism.memo.generating.shape_adapters import to_rank, with_room
from asterism.memo.graphs.coverage import Coverage
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import InvalidLayerError, Tensor
from memo.small_graphs import convolutional


def test_wanted_is_what_no_model_has_covered_and_nothing_where_all_is():
    options = set(universe()["Conv2D"].parameter("padding").options)
    covered = Coverage(parameters={("Conv2D", "padding", "same"), ("Conv2D", "strides", "valid")})
    drawn = {Context(stream(1, n), covered).wanted("Conv2D", "padding") for n in range(40)}
    assert drawn == options - {"same"}
    assert {Context(stream(1, n)).wanted("Conv2D", "padding") for n in range(40)} == options
    every = Coverage(parameters={("Conv2D", "padding", option) for option in options})
    assert Context(stream(1), every).wanted("Conv2D", "padding") is None
    assert Context(stream(1), covered, guided=False).wanted("Conv2D", "padding") is None


@pytest.mark.parametrize(("guided", "share"), [(True, 1.0), (False, 0.6)])
def test_each_further_draw_of_a_configuration_varies_less(guided, share):
    asked = []

    class Never:
        name = "Never"

        def draw(self, rng, inputs, wanted, variation):
            asked.append(variation)
            return {}

        def output(self, config, inputs):
            raise InvalidLayerError("does not fit")

    with pytest.raises(InvalidLayerError, match="does not fit"):
        configured(Never(), [Tensor((3,))], Context(stream(0), guided=guided))
    assert asked == pytest.approx([share, share / 2, share / 3, share / 4])


def test_a_configuration_is_one_that_the_layer_takes():
    spec, inputs = universe()["Conv2D"], [Tensor((3, 9, 2))]
    drawn = []
    for number in range(60):
        with suppress(InvalidLayerError):
            drawn.append(configured(spec, inputs, Context(stream(0, number))))
    assert len({str(config) for config in drawn}) > 30
    for config in drawn:
        assert spec.output(config, inputs).rank == 4


@pytest.mark.parametrize("shape", [(12,), (4, 3), (2, 3, 2), (9, 8, 1)])
def test_a_window_has_room_on_every_spatial_axis(shape):
    graph = Graph({0: input_node(shape), 1: Node("ReLU", {"dtype": "float32"}, (0,))})
    for rank in (3, 4, 5):
        roomy, at = with_room(graph, 1, rank)
        *sizes, channels = roomy.tensors[at].shape
        reshaped, before = to_rank(graph, 1, rank)
        *small, own = reshaped.tensors[before].shape
        assert len(sizes) == rank - 2 and channels == own
        assert sizes == [max(size, 4) for size in small]
        assert all(roomy.nodes[i].repair for i in roomy.layers if i not in graph.nodes)


def test_a_merging_layer_reads_as_many_as_it_may_and_three_at_most():
    counts = {"Add": set(), "Subtract": set()}
    for kind, seen in counts.items():
        for number in range(60):
            graph = convolutional()
            after = [i for i, t in graph.tensors.items() if t.rank == 4][-1]
            made = insert(graph, after, kind, Context(stream(5, kind, number)))
            (new,) = (i for i in made.layers if made.nodes[i].type == kind)
            assert i_read(made, new)[0] == after
            seen.add(len(made.nodes[new].inputs))
    assert counts == {"Add": {2, 3}, "Subtract": {2}}


def i_read(graph, node):
    """The layers that one reads, past repairs."""
    found = []
    for source in graph.nodes[node].inputs:
        while graph.nodes[source].repair:
            source = graph.nodes[source].inputs[0]
        found.append(source)
    return found
