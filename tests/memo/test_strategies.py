"""What strategies propose, learn and remember; words for what Keras configures; drawn weights."""

from collections import Counter

import numpy as np
import pytest

from asterism.differential.reducing.reduce import bypass, renumber_nodes, without_branch
from asterism.memo.generating.campaign import Mutant
from asterism.memo.generating.generate import Island, unite_islands
from asterism.memo.generating.strategies.memo import MemoStrategy
from asterism.memo.generating.strategies.scratch import CradleStrategy, MuffinStrategy
from asterism.memo.graphs.coverage import Coverage
from asterism.memo.graphs.weights import draw_weights, fit_to_shape, match_stored_arrays
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import INTEGER
from memo.small_graphs import branching, convolutional, generate_params, recurrent
from memo.test_generation import SEEDS


def rng(number=0):
    return np.random.default_rng(number)


def test_cradle_proposes_every_seed_once():
    strategy = CradleStrategy(SEEDS, generate_params())
    assert strategy.limit == 3
    first = strategy.propose(rng(), Coverage())
    assert first == Mutant(SEEDS["conv"], "conv", "seed", 0)
    again = CradleStrategy(SEEDS, generate_params())
    again.restore(strategy.learnt())
    assert [again.propose(rng(), Coverage()).seed_model for _ in range(2)] == ["rnn", "add"]
    assert again.learnt() == []
    assert strategy.learnt() == ["rnn", "add"]


class TestFromScratch:
    """Muffin's strategy."""

    def test_models_are_chains_or_cells_of_small_layers(self):
        found = [
            MuffinStrategy({}, generate_params(max_elements=10**6)).propose(rng(n), Coverage())
            for n in range(40)
        ]
        made = [m for m in found if m is not None]
        assert len(made) >= 20
        assert {m.operator for m in made} == {"chain", "cell"}
        assert {m.seed_model for m in made} == {""} and {m.gain for m in made} == {0}
        for m in made:
            (start,) = m.graph.inputs
            shape = m.graph.tensors[start].shape
            assert 1 <= len(shape) <= 4 and all(2 <= size <= 8 for size in shape)
            own = [n for n in m.graph.nodes.values() if not n.repair][1:]
            assert 1 <= len(own) <= 10
            assert all(universe()[n.type].dtypes != (INTEGER,) for n in own)
            if m.operator == "chain":
                merging = any(universe()[n.type].merges for n in own)
                assert merging or len(m.graph.outputs) == 1
        assert max(len(m.graph.layers) for m in made) > 6

    def test_none_is_larger_than_allowed(self):
        for number in range(12):
            made = MuffinStrategy({}, generate_params(max_layers=3)).propose(
                rng(number), Coverage()
            )
            assert made is None or len(made.graph.layers) <= 3


@pytest.mark.parametrize(
    ("gain", "most", "kept"),
    [(3, 20, "mutant"), (0, 20, "before"), (3, 5, "seed"), (3, 6, "mutant")],
)
def test_a_model_is_kept_where_it_raised_coverage_until_it_is_too_large(gain, most, kept):
    memo = MemoStrategy(SEEDS, generate_params(max_layers=most))
    before = memo._pool[2] = recurrent()
    memo._slot, memo._applied = 2, ["NLA"]
    graph = branching().change(1, seed=99)
    assert len(graph.layers) == 4
    memo.reward(Mutant(graph, "conv", "NLA", gain))
    wanted = {"mutant": graph, "before": before, "seed": SEEDS["add"]}
    assert memo._pool[2] == wanted[kept]
    assert len(memo._pool) == 3


def test_the_rewards_of_islands_that_have_one_are_kept():
    islands = [Island([], Counter(), seen) for seen in (None, {"seen": 1})]
    assert unite_islands({"add": branching()}, islands).rewards == [{"seen": 1}]


class TestWeights:
    """Weights that are drawn, cut, and found by name."""

    def test_a_stored_array_is_cut_or_repeated(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert fit_to_shape(array, (2, 3)) is array
        assert fit_to_shape(array, (1, 2)).tolist() == [[0, 1]]
        assert fit_to_shape(array, (3, 4)).tolist() == [[0, 1, 2, 0], [3, 4, 5, 3], [0, 1, 2, 0]]

    def test_variables_of_one_name_are_matched_where_as_many_are_stored(self):
        one, two, three = (np.full(1, n, np.float32) for n in (1, 2, 3))
        variables = [("kernel", (1,)), ("bias", (1,)), ("kernel", (1,))]
        assert match_stored_arrays(variables, [("kernel", one), ("kernel", two)]) == [
            one,
            None,
            two,
        ]
        assert match_stored_arrays(variables, [("kernel", one), ("bias", three)]) == [
            None,
            three,
            None,
        ]
        assert match_stored_arrays(variables, []) == [None, None, None]

    @pytest.mark.parametrize(
        ("name", "shape", "low", "high"),
        [
            ("moving_variance", (4000,), 0.5, 1.5),
            ("gamma", (4000,), 0.5, 1.5),
            ("scale", (4000,), 0.5, 1.5),
            ("scaled", (4000,), -0.5, 0.5),
            ("bias", (4000,), -0.5, 0.5),
            ("kernel", (50, 100), -0.2, 0.2),
            ("kernel", (2, 3, 10, 15), -0.2, 0.2),
        ],
    )
    def test_they_are_drawn_from_the_range_of_their_kind(self, name, shape, low, high):
        drawn = draw_weights(name, shape, rng())
        assert drawn.dtype == np.float32 and drawn.shape == shape
        assert low <= drawn.min() < low + 0.02 and high - 0.02 < drawn.max() <= high


class TestCutting:
    """Graphs without some of their layers."""

    def test_a_bypassed_layer_is_gone_with_what_only_it_read(self):
        graph = branching()
        shorter = bypass(graph, 1, 3)
        assert list(shorter.nodes) == [0, 1, 4] and shorter.nodes[4].inputs == (1,)
        assert list(bypass(graph, 3, 4).nodes) == [0, 1, 2, 3]
        conv = convolutional()
        assert bypass(conv, 0, 1).tensors.keys() == conv.tensors.keys() - {1}
        assert bypass(conv, 4, 5) is None or 5 not in bypass(conv, 4, 5).nodes

    def test_a_merging_layer_without_one_of_two_inputs_goes_too(self):
        graph = branching()
        assert list(without_branch(graph, 3, 0).nodes) == [0, 2, 4]
        assert list(without_branch(graph, 3, 1).nodes) == [0, 1, 4]
        three = graph.change(3, inputs=(1, 2, 1))
        assert without_branch(three, 3, 1).nodes[3].inputs == (1, 1)

    def test_identities_begin_at_0_in_their_order(self):
        graph = bypass(branching(), 2, 3)
        assert list(graph.nodes) == [0, 2, 4]
        again = renumber_nodes(graph)
        assert list(again.nodes) == [0, 1, 2]
        assert [n.inputs for n in again.nodes.values()] == [(), (0,), (1,)]
        assert [n.seed for n in again.nodes.values()] == [n.seed for n in graph.nodes.values()]
