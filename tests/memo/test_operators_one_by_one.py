"""What each operator of mutation aims at, draws, and does to a graph."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from asterism.core.random_streams import stream
from asterism.memo.generating.operators import (
    OPERATORS,
    MutationContext,
    choose_kind,
    draw_config,
    insert,
    splice,
)
from asterism.memo.generating.operators.memo import add_with_own_input, parameters_by_kind
from asterism.memo.generating.shape_adapters import adapt_to_shape, pad_for_window, reshape_to_rank
from asterism.memo.generating.strategies import draw_mutant, within_limits
from asterism.memo.graphs.coverage import Coverage, covered_elements, declared_coverage
from asterism.memo.graphs.graph import Graph, Node, input_node, sequential
from asterism.memo.graphs.weights import WEIGHT_EDITS
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import FLOATS, INTEGER, InvalidLayerError, Tensor
from memo.small_graphs import branching, convolutional, generate_params, layer, recurrent


class Chosen(MutationContext):
    """Picks what comes first in an order that the test gives, and notes from what."""

    def __init__(self, order=lambda item: 0, number=0, guided=False):
        super().__init__(np.random.default_rng(number), Coverage(), guided)
        self.offered, self._order = [], order

    def pick(self, items):
        super().pick(items)  # which rejects none
        self.offered.append(list(items))
        return min(items, key=self._order)


def drawn(number):
    """A context whose randomness is that of a number."""
    return MutationContext(np.random.default_rng(number))


def mutate(name, graph, context=None):
    return OPERATORS[name].mutate(graph, context or Chosen())


DENSE = ("Dense", "ReLU", "Dense")


def chain(*kinds):
    steps = {"Dense": layer("Dense", units=4), "ReLU": layer("ReLU")}
    return sequential(Tensor((4,)), [steps[kind] for kind in kinds])


def test_an_activation_is_removed_where_there_is_one():
    graph, context = branching(), Chosen()
    mutant = mutate("ARem", graph, context)
    assert context.offered == [[2]]
    assert mutant.nodes[2].config == {**graph.nodes[2].config, "activation": "linear"}
    assert {i: n for i, n in mutant.nodes.items() if i != 2} == {
        i: n for i, n in graph.nodes.items() if i != 2
    }
    with pytest.raises(InvalidLayerError, match="does not apply"):
        mutate("ARem", chain(*DENSE))


def test_only_an_activation_is_replaced():
    for number in range(5):
        graph = branching()
        mutant = mutate("ARep", graph, Chosen(number=number))
        (changed,) = [i for i in graph.nodes if mutant.nodes[i] != graph.nodes[i]]
        before, after = graph.nodes[changed].config, mutant.nodes[changed].config
        assert before.get("activation", "linear") != after["activation"]
        assert {**after, "activation": 0} == {**before, "activation": 0}


def test_an_added_layer_keeps_the_shape_of_what_it_reads():
    kept, counts = Counter(), Counter()
    for number in range(30):
        graph = chain(*DENSE)
        mutant = OPERATORS["LA"].mutate(graph, drawn(number))
        (new,) = [i for i in mutant.nodes if i not in graph.nodes and not mutant.nodes[i].repair]
        assert mutant.tensors[new] == mutant.tensors[mutant.nodes[new].inputs[0]]
        kept[mutant.nodes[new].type] += 1
        several = OPERATORS["MLA"].mutate(graph, drawn(number))
        new = [i for i in several.layers if i not in graph.nodes and not several.nodes[i].repair]
        counts[len(new)] += 1
    assert len(kept) >= 5
    assert set(counts) == {2, 3, 4}


def test_a_layer_that_keeps_its_shape_is_taken_out():
    graph, context = chain(*DENSE), Chosen(lambda i: -i)
    mutant = mutate("LR", graph, context)
    # The last layer has no reader, so it stays.
    assert context.offered == [[1, 2]]
    assert list(mutant.nodes) == [0, 1, 3]
    assert mutant.nodes[3].inputs == (1,)
    narrow = sequential(Tensor((4,)), [layer("Dense", units=3), layer("Dense", units=3)])
    with pytest.raises(InvalidLayerError):
        mutate("LR", sequential(Tensor((4,)), [layer("Dense", units=3), layer("Dense", units=2)]))
    with pytest.raises(InvalidLayerError):
        mutate("LR", narrow)  # its second one is the output


def test_two_layers_of_the_same_shapes_change_places():
    graph = chain(*DENSE)
    seeded = graph.with_nodes({i: replace(n, seed=10 + i) for i, n in graph.nodes.items()})
    context = Chosen()
    mutant = mutate("LS", seeded, context)
    assert context.offered == [[1, 2, 3], [2, 3]]
    assert [mutant.nodes[i].type for i in (1, 2, 3)] == ["ReLU", "Dense", "Dense"]
    assert [mutant.nodes[i].seed for i in (1, 2, 3)] == [12, 11, 13]
    assert [mutant.nodes[i].inputs for i in (1, 2, 3)] == [(0,), (1,), (2,)]
    with pytest.raises(InvalidLayerError, match="no other layer has the same shapes"):
        mutate("LS", sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=2)]))


@pytest.mark.parametrize(("name", "kind"), [("NaN", "special"), ("GF", "gaussian_fuzz")])
def test_weights_of_a_layer_that_has_some_are_marked(name, kind):
    graph, context = chain(*DENSE), Chosen(lambda i: -i)
    once = mutate(name, graph, context)
    assert context.offered == [[1, 3]]
    (edit,) = once.nodes[3].edits
    assert edit.kind == kind and 0 <= edit.seed < 2**31
    twice = mutate(name, once, context)
    assert twice.nodes[3].edits[0] == edit and len(twice.nodes[3].edits) == 2


def test_layers_are_connected_forwards_and_never_twice():
    graph, context = chain(*DENSE), Chosen(lambda pair: (-pair[1], pair[0]))
    mutant = mutate("LConn", graph, context)
    assert context.offered == [[(1, 3)]]  # an input is no layer, and 3 reads 2 already
    assert mutant.nodes[3].inputs == (1,)
    guided = Chosen(guided=True)
    guided.coverage.update(covered_elements(chain("Dense", "Dense")))
    longer, _ = graph.add(Node("ReLU", {"dtype": "float32"}, (3,)))
    mutate("LConn", longer, guided)
    assert (1, 3) not in guided.offered[0], "two dense layers have met already"


def test_a_connection_is_brought_to_the_shape_that_was_read():
    graph = sequential(Tensor((6,)), [layer("Dense", units=n) for n in (3, 5, 2)])
    mutant = mutate("LConn", graph)
    (at,) = mutant.nodes[3].inputs
    assert mutant.tensors[at].shape == (5,) and mutant.nodes[at].repair


def test_a_merging_layer_joins_what_came_before():
    for number in range(8):
        graph = chain(*DENSE)
        mutant = OPERATORS["LMerg"].mutate(graph, drawn(number))
        merging = [
            i
            for i in mutant.layers
            if i not in graph.nodes and universe()[mutant.nodes[i].type].merges
        ]
        assert len(merging) == 1
        low, high = universe()[mutant.nodes[merging[0]].type].arity
        assert low <= len(mutant.nodes[merging[0]].inputs) <= min(high, 3)


def test_a_reshaping_layer_is_read_in_the_rank_that_its_reader_accepts():
    seen = set()
    for number in range(12):
        graph = convolutional()
        mutant = draw_mutant("LResh", graph, drawn(number), generate_params(max_elements=10**6))
        if mutant is None:
            continue
        new = [i for i in mutant.layers if i not in graph.nodes and not mutant.nodes[i].repair]
        assert len(new) == 1
        seen.add(mutant.nodes[new[0]].type)
        for node in (mutant.nodes[i] for i in mutant.layers):
            for source in node.inputs:
                assert mutant.tensors[source].rank in universe()[node.type].ranks
    assert len(seen) >= 3


def test_a_layer_that_reads_integers_gets_an_input_of_its_own():
    for number in range(6):
        graph = chain(*DENSE)
        mutant = add_with_own_input(graph, "Embedding", drawn(number))
        (own,) = set(mutant.inputs) - set(graph.inputs)
        assert mutant.tensors[own].dtype == INTEGER
        assert mutant.nodes[own].config["bound"] > 1
        assert all(2 <= size <= 5 for size in mutant.tensors[own].shape)
        (embedding,) = mutant.consumers[own]
        assert mutant.nodes[embedding].type == "Embedding"
        assert len(mutant.outputs) == 1, "it is joined to the rest"
        assert mutant.nodes[mutant.outputs[0]].type == "Concatenate"
    alone = add_with_own_input(Graph({0: input_node((4,))}), "Embedding", drawn(5))
    assert [alone.nodes[o].type for o in alone.outputs] == ["Embedding"]


@pytest.mark.parametrize(("name", "shapes"), [("CShape", True), ("CMode", False)])
def test_changes_of_parameters_are_of_their_kind(name, shapes):
    changed = 0
    for number in range(10):
        graph = recurrent()
        mutant = draw_mutant(name, graph, drawn(number), generate_params())
        if mutant is None:
            continue
        allowed = {
            kind: {p.name for p in found} for kind, found in parameters_by_kind(shapes).items()
        }
        configs = Counter(
            (n.type, key, str(value))
            for n in graph.nodes.values()
            for key, value in n.config.items()
        )
        for node in (mutant.nodes[i] for i in mutant.layers if not mutant.nodes[i].repair):
            for key, value in node.config.items():
                if (node.type, key, str(value)) not in configs:
                    assert key in allowed[node.type]
                    changed += 1
    assert changed >= 5


def test_an_input_has_another_rank_that_its_layer_accepts():
    graph, context = recurrent(), Chosen(number=1)
    mutant = mutate("MRank", graph, context)
    (candidates,) = context.offered[:1]
    assert all(
        rank in universe()[graph.nodes[i].type].ranks
        and rank != graph.tensors[graph.nodes[i].inputs[0]].rank
        for i, rank in candidates
    )
    chosen, rank = min(candidates, key=lambda _: 0)
    kind = graph.nodes[chosen].type
    ranks = [
        mutant.tensors[node.inputs[0]].rank
        for node in (mutant.nodes[i] for i in mutant.layers)
        if node.type == kind and not node.repair
    ]
    assert rank in ranks
    guided = Chosen(number=1, guided=True)
    guided.coverage.update(covered_elements(graph))
    mutate("MRank", graph, guided)
    assert all(
        (graph.nodes[i].type, rank, "float32") not in guided.coverage.inputs
        for i, rank in guided.offered[0]
    )


def test_an_input_s_producer_computes_in_another_dtype():
    graph, context = chain("Dense", "ReLU"), Chosen(lambda pair: (-pair[0], pair[1]))
    mutant = mutate("MDtype", graph, context)
    assert {dtype for _, dtype in context.offered[0]} == set(FLOATS) - {"float32"}
    source, dtype = min(context.offered[0], key=lambda pair: (-pair[0], pair[1]))
    assert source == 1 and dtype != "float32"
    assert mutant.nodes[1].config["dtype"] == dtype
    assert mutant.nodes[2].config["dtype"] == "float32"


def test_guided_a_dtype_that_nobody_has_covered_comes_first():
    graph = chain("Dense", "ReLU")
    half = covered_elements(graph.change(1, config={"units": 4, "dtype": "float16"}))
    offered = []
    for number in range(30):
        guided = Chosen(number=number, guided=True)
        guided.coverage.update(half)
        assert ("ReLU", 2, "float16") in guided.coverage.inputs
        mutate("MDtype", graph, guided)
        offered.append(guided.offered[0])
    new = [(1, "float64"), (0, "float16"), (0, "float64")]
    assert all(set(new) <= set(candidates) for candidates in offered)
    covered = sum((1, "float16") in candidates for candidates in offered)
    assert 0 < covered < 12, "one draw in ten takes it nevertheless"


def test_an_input_has_another_size():
    sizes = set()
    for number in range(20):
        graph = chain("Dense")
        mutant = mutate("MShape", graph, Chosen(number=number))
        (dense,) = [i for i in mutant.layers if mutant.nodes[i].type == "Dense"]
        sizes.add(mutant.tensors[mutant.nodes[dense].inputs[0]].shape)
    assert all(len(shape) == 1 and 1 <= shape[0] <= 9 for shape in sizes)
    assert {shape[0] for shape in sizes} >= {1, 9} or len(sizes) >= 6


class TestRepairs:
    """Layers that only let shapes meet."""

    def kinds(self, graph, source, wanted, make):
        made, end = make(graph, source, wanted)
        added = [made.nodes[i] for i in made.nodes if i not in graph.nodes]
        assert all(node.repair and not node.seed for node in added)
        return made.tensors[end], [(node.type, node.config) for node in added]

    @pytest.mark.parametrize(
        ("before", "after", "middle"),
        [
            ((4, 3), (4, 3), []),
            ((4, 3), (12,), []),
            ((4, 3), (2, 5), [("Cropping1D", {"cropping": [0, 2], "dtype": "float32"})]),
            ((4,), (2, 3), [("ZeroPadding1D", {"padding": [0, 2], "dtype": "float32"})]),
        ],
    )
    def test_a_shape_is_reached_by_cropping_or_zeros(self, before, after, middle):
        graph = Graph({0: input_node(before)})
        tensor, added = self.kinds(graph, 0, after, adapt_to_shape)
        assert tensor.shape == after
        assert [entry for entry in added if entry[0] != "Reshape"] == middle
        assert len(added) <= len(middle) + 2

    def test_a_rank_is_reached_by_reshaping(self):
        graph = Graph({0: input_node((4, 6))})
        for rank in (2, 3, 4, 5):
            tensor, added = self.kinds(graph, 0, rank, reshape_to_rank)
            assert tensor.rank == rank and tensor.size == 24
            assert [kind for kind, _ in added] == ["Reshape"] * (rank != 3)

    def test_integers_are_not_repaired(self):
        graph = Graph({0: input_node((4,), INTEGER)})
        with pytest.raises(InvalidLayerError, match="integers are not repaired"):
            adapt_to_shape(graph, 0, (5,))

    def test_readers_get_the_shape_that_they_know(self):
        graph = chain(*DENSE)
        grown, new = graph.add(Node("Dense", {"units": 9, "dtype": "float32"}, (1,), seed=3))
        assert splice(grown, 1, new, []) is grown
        spliced = splice(grown, 1, new, [2])
        (read,) = spliced.nodes[2].inputs
        assert spliced.tensors[read].shape == (4,) and spliced.nodes[read].repair
        assert spliced.nodes[3].inputs == (2,)


class TestChoosing:
    """The type of layer that is put on an edge."""

    KINDS = ("ReLU", "Softmax", "Conv2D")

    def choose(self, context, graph=None):
        return choose_kind(graph or chain(*DENSE), 1, 2, self.KINDS, context)

    def test_unguided_it_is_any(self):
        context = Chosen()
        self.choose(context)
        assert context.offered == [list(self.KINDS)]

    def test_one_that_nobody_has_covered_comes_first(self):
        context = Chosen(guided=True)
        context.coverage.types |= {"ReLU", "Conv2D"}
        assert self.choose(context) == "Softmax"
        assert context.offered == [["Softmax"]]

    def test_then_one_that_forms_two_new_pairs_and_needs_no_reshaping(self):
        context = Chosen(guided=True)
        context.coverage.types |= set(self.KINDS)
        whole = declared_coverage().pairs
        assert {("Dense", kind) for kind in self.KINDS} <= whole
        self.choose(context)
        # All form new pairs on both sides; a convolution would need another rank.
        assert context.offered == [["ReLU", "Softmax"]]
        context.coverage.pairs |= {("Dense", "ReLU"), ("ReLU", "ReLU")}
        self.choose(context)
        assert context.offered[1] == ["Softmax"]
        context.coverage.pairs |= {("Dense", "Softmax"), ("Softmax", "ReLU")}
        self.choose(context)
        assert context.offered[2] == ["Conv2D"], "two new pairs are worth a reshaping"


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"max_layers": 3}, True),
        ({"max_layers": 2}, False),
        ({"max_elements": 4}, True),
        ({"max_elements": 3}, False),
        ({"max_steps": 3}, True),
        ({"max_steps": 2}, False),
    ],
)
def test_limits_may_be_reached_and_not_exceeded(changes, fits):
    graph = chain(*DENSE)
    assert within_limits(graph, generate_params(**changes)) is fits
    if "max_layers" not in changes:  # as large as what it was made from it may be
        assert within_limits(graph, generate_params(**changes), graph)


class TestEditsOfWeights:
    """Edits of a kernel and a bias, number by number."""

    def edited(self, kind, number=0):
        rng = np.random.default_rng(5)
        kernel = rng.normal(size=(3, 2, 4)).astype(np.float32)
        before = [kernel, rng.normal(size=4).astype(np.float32)]
        after = WEIGHT_EDITS[kind]([a.copy() for a in before], np.random.default_rng(number))
        return before, after

    @pytest.mark.parametrize("number", range(4))
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("neuron_block", lambda values: np.zeros_like(values)),
            ("neuron_inversion", lambda values: -values),
        ],
    )
    def test_one_neuron_is_blocked_or_inverted(self, kind, expected, number):
        (kernel, bias), (changed, same) = self.edited(kind, number)
        np.testing.assert_array_equal(bias, same)
        (neuron,) = np.flatnonzero((kernel != changed).any(axis=(0, 1)))
        np.testing.assert_array_equal(changed[..., neuron], expected(kernel[..., neuron]))
        assert neuron == np.random.default_rng(number).permutation(4)[0]

    def test_the_weights_of_one_neuron_change_places(self):
        (kernel, bias), (changed, same) = self.edited("weight_shuffle")
        np.testing.assert_array_equal(bias, same)
        (neuron,) = np.flatnonzero((kernel != changed).any(axis=(0, 1)))
        one, other = kernel[..., neuron].ravel(), changed[..., neuron].ravel()
        assert sorted(one) == sorted(other) and (one != other).any()

    def test_two_neurons_change_places(self):
        (kernel, bias), (changed, same) = self.edited("neuron_switch")
        np.testing.assert_array_equal(bias, same)
        one, two = np.flatnonzero((kernel != changed).any(axis=(0, 1)))
        np.testing.assert_array_equal(changed[..., one], kernel[..., two])
        np.testing.assert_array_equal(changed[..., two], kernel[..., one])
        (single,) = WEIGHT_EDITS["neuron_switch"](
            [np.ones((2, 1), np.float32)], np.random.default_rng(0)
        )
        assert (single == 1).all()

    def test_noise_is_a_tenth_of_the_spread(self):
        wide = np.random.default_rng(0).normal(0, 5, (200, 50)).astype(np.float32)
        flat = np.zeros((30, 30), np.float32)
        bias = np.ones(4, np.float32)
        rng = np.random.default_rng(1)
        fuzzed, barely, same = WEIGHT_EDITS["gaussian_fuzz"]([wide, flat, bias], rng)
        noise = fuzzed.astype(float) - wide
        assert fuzzed.dtype == np.float32
        assert noise.std() == pytest.approx(0.5, rel=0.03)
        assert noise.mean() == pytest.approx(0, abs=0.02)
        assert barely.std() == pytest.approx(1e-6, rel=0.1)
        np.testing.assert_array_equal(same, bias)

    def test_one_weight_of_any_array_is_no_ordinary_number(self):
        found, places = set(), set()
        for number in range(40):
            before, after = self.edited("special", number)
            changed = [
                (at, *np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))[0])
                for at, (a, b) in enumerate(zip(before, after, strict=True))
                if not np.array_equal(a, b)
            ]
            assert len(changed) == 1
            at, *where = changed[0]
            found.add(str(after[at][tuple(where)]))
            places.add(at)
        assert found == {"nan", "inf", "-inf", "1e+30"} and places == {0, 1}
        assert WEIGHT_EDITS["special"]([], np.random.default_rng(0)) == []
        empty = np.zeros((0, 3), np.float32)
        assert WEIGHT_EDITS["special"]([empty], np.random.default_rng(0))[0].size == 0


@pytest.mark.parametrize(
    ("graph", "elements"),
    [(convolutional(), 12 * 12 * 4), (recurrent(), 6 * 4), (branching(), 6)],
)
def test_the_largest_tensor_is_counted_in_elements(graph, elements):
    assert graph.largest == elements


def test_a_copied_layer_reads_the_original_and_its_readers_read_the_copy():
    graph = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=2)])
    copied = OPERATORS["LC"].mutate(graph, drawn(0))
    (new,) = copied.nodes.keys() - graph.nodes.keys()
    relu, dense = graph.layers
    assert copied.nodes[new].type == "ReLU" and copied.nodes[new].inputs == (relu,)
    assert copied.nodes[new].seed == graph.nodes[relu].seed, "with the same weights"
    assert copied.nodes[dense].inputs == (new,)


def test_a_copied_last_layer_is_the_output():
    graph = sequential(Tensor((4,)), [layer("Dense", units=2), layer("ReLU")])
    copied = OPERATORS["LC"].mutate(graph, drawn(0))
    (output,) = copied.outputs
    assert output not in graph.nodes and copied.nodes[output].inputs == graph.outputs


def test_wanted_is_what_no_model_has_covered_and_nothing_where_all_is():
    options = set(universe()["Conv2D"].known["padding"].options)
    covered = Coverage(parameters={("Conv2D", "padding", "same"), ("Conv2D", "strides", "valid")})
    drawn = {MutationContext(stream(1, n), covered).wanted("Conv2D", "padding") for n in range(40)}
    assert drawn == options - {"same"}
    assert {MutationContext(stream(1, n)).wanted("Conv2D", "padding") for n in range(40)} == options
    every = Coverage(parameters={("Conv2D", "padding", option) for option in options})
    assert MutationContext(stream(1), every).wanted("Conv2D", "padding") is None
    assert MutationContext(stream(1), covered, guided=False).wanted("Conv2D", "padding") is None


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
        draw_config(Never(), [Tensor((3,))], MutationContext(stream(0), guided=guided))
    assert asked == pytest.approx([share, share / 2, share / 3, share / 4])


def test_a_configuration_is_one_that_the_layer_takes():
    spec, inputs = universe()["Conv2D"], [Tensor((3, 9, 2))]
    drawn = []
    for number in range(60):
        with suppress(InvalidLayerError):
            drawn.append(draw_config(spec, inputs, MutationContext(stream(0, number))))
    assert len({str(config) for config in drawn}) > 30
    for config in drawn:
        assert spec.output(config, inputs).rank == 4


@pytest.mark.parametrize("shape", [(12,), (4, 3), (2, 3, 2), (9, 8, 1)])
def test_a_window_has_room_on_every_spatial_axis(shape):
    graph = Graph({0: input_node(shape), 1: Node("ReLU", {"dtype": "float32"}, (0,))})
    for rank in (3, 4, 5):
        roomy, at = pad_for_window(graph, 1, rank)
        *sizes, channels = roomy.tensors[at].shape
        reshaped, before = reshape_to_rank(graph, 1, rank)
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
            made = insert(graph, after, kind, MutationContext(stream(5, kind, number)))
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
