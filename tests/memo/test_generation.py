"""Operators, strategies, the selection, islands, and the choice of few models that cover much."""

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.metropolis import MetropolisHastings
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import stream
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import PartEnded, SharedWorkUnits, UnitShare
from asterism.memo.generating import strategies as strategy_module
from asterism.memo.generating.campaign import (
    MODEL_COST,
    GenerationCampaign,
    Mutant,
    choose_broadest,
    estimate_cost,
    growth_table,
    mutant_table,
    universe_facts,
)
from asterism.memo.generating.generate import generate
from asterism.memo.generating.operators import OPERATORS, MutationContext
from asterism.memo.generating.strategies import STRATEGIES, Strategy, draw_mutant, run_campaign
from asterism.memo.generating.strategies.memo import MemoStrategy
from asterism.memo.graphs.coverage import Coverage, coverage_of, covered_elements, declared_coverage
from asterism.memo.graphs.graph import Node, WeightEdit, infer_outputs, sequential
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.store import graph_from_json
from asterism.memo.graphs.weights import WEIGHT_EDITS, layer_weights
from asterism.memo.universe.tensors import Tensor
from extras import needs
from memo.small_graphs import branching, convolutional, generate_params, layer, recurrent

SEEDS = {"conv": convolutional(), "rnn": recurrent(), "add": branching()}


@pytest.mark.parametrize("name", OPERATORS.names())
def test_an_operator_makes_a_valid_graph_and_leaves_the_old_one_alone(name):
    made = 0
    for number in range(30):
        graph = list(SEEDS.values())[number % 3]
        before = graph.to_json()
        mutant = draw_mutant(
            name, graph, MutationContext(stream(5, name, number)), generate_params()
        )
        assert graph.to_json() == before
        if mutant is None:
            continue
        made += 1
        assert mutant.to_json() != before
        assert dict(mutant.tensors) == infer_outputs(mutant.nodes)
        assert graph_from_json(mutant.to_json()) == mutant
    assert made >= 5


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_a_strategy_spends_its_budget_the_same_way_every_time(name):
    first, second = (run_campaign(SEEDS, generate_params(models=12), 4, name) for _ in range(2))
    assert len(first.mutants) == (3 if name == "cradle" else 12)
    assert [m.graph.to_json() for m in first.mutants] == [m.graph.to_json() for m in second.mutants]
    assert first.growth[-1] == {"models": len(first.mutants), **first.coverage.rates()}
    for one, two in zip(first.growth, first.growth[1:], strict=False):
        assert one["pairs"] <= two["pairs"] and one["types"] <= two["types"]


def test_a_shorter_campaign_is_the_beginning_of_a_longer_one():
    short, long = (
        run_campaign(SEEDS, generate_params(models=n), 1, "memo").mutants for n in (8, 20)
    )
    assert [m.graph for m in short] == [m.graph for m in long[:8]]


def test_chains_are_united_in_turns_whoever_runs_them():
    budget = generate_params(models=11, islands=3, compared=["cradle"])
    alone = generate(SEEDS, budget, 4)
    with pytest.raises(PartEnded):
        generate(SEEDS, budget, 4, SharedWorkUnits("generate", "key", part=UnitShare(0, 1)))
    shared = generate(SEEDS, budget, 4, SharedWorkUnits("generate", "key"))
    assert alone == shared
    whole = alone["memo"]
    assert len(whole.mutants) == 11
    assert len(alone["cradle"].mutants) == len(SEEDS), "one chain: three would repeat the seeds"

    twins = [
        run_campaign(SEEDS, generate_params(models=n), 4, "memo", number)
        for number, n in enumerate((4, 4, 3))
    ]
    turns = [twins[n % 3].mutants[n // 3].graph for n in range(11)]
    assert [m.graph for m in whole.mutants] == turns
    covered = coverage_of(SEEDS.values())
    for mutant in whole.mutants:
        assert mutant.gain == covered.gain(covered_elements(mutant.graph))
        covered.update(covered_elements(mutant.graph))
    assert whole.coverage == covered
    assert whole.rejected == sum((twin.rejected for twin in twins), Counter())
    assert (
        generate(SEEDS, generate_params(models=2, islands=5), 4)["memo"].growth[-1]["models"] == 2
    )


@pytest.mark.parametrize("strategy", ["memo", "memo_r", "muffin"])
def test_no_model_makes_more_steps_or_elements_than_allowed(strategy):
    budget = generate_params(models=60, mutations=4, max_steps=20, max_elements=300)
    made = run_campaign(SEEDS, budget, 0, strategy).mutants
    assert max(mutant.graph.steps for mutant in made) == 20
    # A seed model's own tensors may stay.
    assert all(mutant.graph.largest <= 576 for mutant in made)


def test_the_table_of_growth_has_so_many_rows_as_a_plot_can_show():
    campaigns = {"memo": GenerationCampaign(Coverage()), "cradle": GenerationCampaign(Coverage())}
    for made, models in zip(campaigns.values(), (5000, 3), strict=True):
        made.growth = [{"models": n, "types": n / models} for n in range(models + 1)]
    table = growth_table(campaigns)
    assert [row["models"] for row in table] == [*range(0, 5001, 5), 0, 1, 2, 3]
    assert [row["strategy"] for row in table] == ["memo"] * 1001 + ["cradle"] * 4
    assert table[1000]["types"] == 1.0


KILLED_CAMPAIGN = """
import os, signal, sys
sys.path[:0] = ["src", "tests"]
import asterism.memo.generating.strategies as generate
from asterism.core.resuming import checkpoints
from asterism.core.settings import machine
from asterism.core.resuming.checkpoints import Checkpoint
from memo.small_graphs import generate_params
from memo.test_generation import SEEDS

class Dying(Checkpoint):
    def save(self, fill, grows=()):
        super().save(fill, grows)
        if self.latest().name == "00000011":
            os.kill(os.getpid(), signal.SIGKILL)

checkpoints.SAVE_EVERY = 0
strategy = sys.argv[1]
dying = Dying(machine.state_root() / "checkpoint")
generate.run_campaign(SEEDS, generate_params(models=30), 7, strategy, checkpoint=dying)
"""


@needs("keras")
@pytest.mark.parametrize("strategy", ["memo", pytest.param("memo_r", marks=pytest.mark.slow)])
def test_a_killed_campaign_goes_on_to_the_same_result(strategy, monkeypatch, state_root):
    command = [sys.executable, "-c", KILLED_CAMPAIGN, strategy]
    environment = os.environ | {"KERAS_BACKEND": "numpy"}  # imported in half the time
    ended = subprocess.run(command, env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    checkpoint = Checkpoint(state_root / "checkpoint")
    saved = checkpoint.latest()
    assert saved is not None
    parts = sorted(part.name for part in (saved / "mutants").iterdir())
    assert parts == [f"{number:08d}.json" for number in range(1, 13)]
    budget = generate_params(models=30)
    asked, propose = [], MemoStrategy.propose
    monkeypatch.setattr(MemoStrategy, "propose", lambda *given: asked.append(1) or propose(*given))
    resumed = run_campaign(SEEDS, budget, 7, strategy, checkpoint=checkpoint)
    assert asked, "the rest must still be proposed"
    proposals = len(asked)
    whole = run_campaign(SEEDS, budget, 7, strategy)
    assert proposals < len(asked) - proposals, "what was saved must not be proposed again"
    assert resumed.mutants == whole.mutants
    assert resumed.growth == whole.growth
    assert resumed.rejected == whole.rejected


def test_pairs_are_selected_by_what_they_have_served():
    """Algorithm 2; tests of the selector follow its steps."""
    memo, selector, current = MemoStrategy(SEEDS, generate_params()), MetropolisHastings(0.05), None
    names = [n for n in OPERATORS if OPERATORS[n].family in MemoStrategy.families]
    pairs = list(product(range(len(SEEDS)), names))
    models, operators, times = Counter(), Counter(), Counter()
    for step in range(40):
        served = {p: (models[p[0]] + operators[p[1]]) / (times[p] + 1) for p in pairs}
        assert {p: memo.fitness(p) for p in pairs} == served
        slot, name = current = selector.select(pairs, served.get, current, stream(9, step))
        times[current] += 1
        made = memo.propose(stream(9, step), Coverage())
        if made is not None:
            assert (made.seed_model, made.operator) == (list(SEEDS)[slot], name)
            memo.reward(replace(made, gain=step % 5))
            models[slot] += step % 5
            operators[name] += step % 5


def test_operators_that_are_applied_to_one_model_share_what_it_serves():
    """Only the model that is mutated counts as selected."""
    for number in range(50):
        memo = MemoStrategy(SEEDS, generate_params(mutations=2))
        made = memo.propose(stream(3, number), Coverage())
        applied = set() if made is None else set(made.operator.split("+"))
        if len(applied) == 2:
            break
    memo.reward(replace(made, gain=6))
    slot = list(SEEDS).index(made.seed_model)
    for model, name in product(range(len(SEEDS)), [*applied, "none"]):
        served = 6 * (model == slot) + 3 * (name in applied)
        times = model == slot and name in applied
        assert memo.fitness((model, name)) == served / (1 + times)


class TestMemoAsPublished:
    """Sections 3.2 and 3.3: seven operators on one to five layers, and equation 2."""

    def test_it_draws_from_the_seven_operators(self):
        mutants = run_campaign(
            SEEDS, generate_params(models=120, published=True), 0, "memo"
        ).mutants
        seven = {"NLA", "LResh", "LMerg", "LConn", "CShape", "CMode", "NaN"}
        assert {mutant.operator for mutant in mutants} == seven

    def test_a_new_layer_operator_adds_one_to_five(self):
        graph = SEEDS["conv"]
        added = Counter()
        for number in range(60):
            context = MutationContext(stream(3, number), coverage_of([graph]), most=5)
            mutant = draw_mutant("NLA", graph, context, generate_params(max_layers=60))
            if mutant is not None:
                own = [i for i in mutant.layers if not mutant.nodes[i].repair]
                added[len(own) - len(graph.layers)] += 1
        assert set(added) >= {1, 2, 3, 4, 5}
        assert max(added) <= 10, "a layer that reads integers is joined by a second one"

    def test_a_score_is_a_number_of_mutants(self):
        memo = MemoStrategy(SEEDS, generate_params(published=True))
        for number, gain in enumerate((7, 0, 3)):
            mutant = memo.propose(stream(2, number), Coverage())
            memo.reward(replace(mutant, gain=gain))
        assert sum(memo._model_scores.values()) == 2
        assert sum(memo._operator_scores.values()) == 2

    def test_memo_r_leaves_out_the_search_and_nothing_else(self):
        uniform = STRATEGIES["memo_r"](SEEDS, generate_params(published=True))
        assert uniform.guided and uniform.families == MemoStrategy.families
        chosen = Counter(uniform._select(stream(1, n)) for n in range(2100))
        assert len(chosen) == 21
        assert max(chosen.values()) < 2 * min(chosen.values())


def test_lemon_has_memo_o_s_operators_without_that_of_audee():
    budget = generate_params(models=300, mutations=1)
    used = {
        strategy: {mutant.operator for mutant in run_campaign(SEEDS, budget, 0, strategy).mutants}
        for strategy in ("lemon", "memo_o")
    }
    assert used["memo_o"] - used["lemon"] == {"CC"}
    assert len(used["lemon"]) == 12


def test_its_operators_make_memo_cover_more():
    budget = generate_params(models=150, mutations=3)
    found = {s: run_campaign(SEEDS, budget, 0, s).coverage.rates() for s in ("memo", "memo_o")}
    for kind in ("types", "pairs", "parameters"):
        assert found["memo"][kind] > found["memo_o"][kind]


def test_keras_rejects_at_most_two_percent():
    mutants = run_campaign(SEEDS, generate_params(models=60, mutations=3), 11, "memo").mutants
    rejected = []
    for mutant in mutants:
        try:
            model = build_model(mutant.graph, zero_initializers=True)
        except Exception as error:
            rejected.append(str(error)[:300])
            continue
        outputs = model.outputs
        shapes = [tuple(o.shape[1:]) for o in outputs]
        assert shapes == [mutant.graph.tensors[i].shape for i in mutant.graph.outputs]
    assert len(rejected) <= 0.02 * len(mutants), rejected


@pytest.mark.parametrize("kind", WEIGHT_EDITS.names())
@pytest.mark.parametrize("read", [False, True])
def test_weight_edits_change_weights_and_nothing_else(kind, read):
    node = Node("Dense", {"units": 4}, seed=3, weights="read")
    shapes = [("kernel", (5, 4)), ("bias", (4,))]
    arrays = [(name, np.random.default_rng(7).normal(size=s).astype("f4")) for name, s in shapes]
    stored = {"read": arrays} if read else {}
    plain = layer_weights(node, shapes, stored)
    edited = replace(node, edits=(WeightEdit(kind, 1),))
    once, again = (layer_weights(edited, shapes, stored) for _ in range(2))
    assert [a.shape for a in once] == [(5, 4), (4,)]
    assert any(not np.array_equal(a, b) for a, b in zip(plain, once, strict=True))
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(plain, layer_weights(node, shapes, stored), strict=True):
        np.testing.assert_array_equal(a, b)


class Failing(Strategy):
    """Proposes nothing, and counts how often it is asked."""

    asked = 0

    def propose(self, rng, coverage):
        self.asked += 1
        return None


@pytest.mark.parametrize(("limit", "asked"), [(None, 300), (7, 7)])
def test_a_strategy_that_keeps_failing_ends(monkeypatch, limit, asked):
    made = []

    class Limited(Failing):
        def __init__(self, seeds, given):
            super().__init__(seeds, given)
            made.append(self)

    Limited.limit = limit
    registry = Registry("generation strategy", "asterism.memo.generating.strategies")
    registry.register("failing")(Limited)
    monkeypatch.setattr(strategy_module, "STRATEGIES", registry)
    result = run_campaign(SEEDS, generate_params(models=3), 0, "failing")
    assert made[0].asked == result.rejected["no valid draw"] == asked
    assert result.mutants == []


def test_a_table_tells_where_each_model_comes_from():
    mutants = [
        Mutant(convolutional(), "conv", "one", gain=3),
        Mutant(recurrent(), "rnn", "two", gain=0),
    ]
    made = GenerationCampaign(coverage_of([]))
    made.mutants = mutants
    assert mutant_table(made, {1}) == {
        "model": [0, 1],
        "executed": [False, True],
        "seed_model": ["conv", "rnn"],
        "operators": ["one", "two"],
        "layers": [6, 2],
        "gain": [3, 0],
    }
    facts = universe_facts()
    assert (facts["types"], facts["pairs"]) == (
        len(declared_coverage().types),
        len(declared_coverage().pairs),
    )
    assert facts["types_of_its_families"] <= facts["types"]
    assert facts["pairs_of_its_families"] <= facts["pairs"]


def test_a_graph_is_as_deep_as_its_longest_path_and_as_exact_as_its_coarsest_dtype():
    graph = branching()
    assert (graph.depth, recurrent().depth, convolutional().depth) == (3, 2, 6)
    half = graph.add(Node("Identity", {"dtype": "float16"}, (4,)))[0]
    assert graph.epsilon == np.finfo(np.float32).eps
    assert half.epsilon == np.finfo(np.float16).eps
    ordinary, special = (WeightEdit(kind, seed=0) for kind in ("scale", "special"))
    node = Node("Dense", {"units": 2, "dtype": "float32"}, (0,), seed=1)
    assert not node.is_special and not replace(node, edits=(ordinary,)).is_special
    assert replace(node, edits=(ordinary, special)).is_special


def test_weights_do_not_depend_on_what_they_are_built_with():
    wrapped = sequential(Tensor((5, 3)), [layer("Bidirectional", layer="GRU", units=2)])
    plain, zeros = (build_model(wrapped, zero_initializers=zeros).get_weights() for zeros in (0, 1))
    for one, other in zip(plain, zeros, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.any(plain[0])


FIRST = {"data_format": "channels_first"}
MODELS = st.lists(st.tuples(st.frozensets(st.integers(0, 12)), st.integers(1, 4)), max_size=8)


def choose(models, count):
    return choose_broadest([covered for covered, _ in models], [size for _, size in models], count)


def slow_twin(models, count):
    """The greedy choice as its docstring has it, counting everything at every choice."""
    chosen, seen = [], set()
    while len(chosen) < min(count, len(models)):
        rest = [at for at in range(len(models)) if at not in chosen]
        best = max(rest, key=lambda at: len(models[at][0] - seen) / models[at][1])
        if not models[best][0] - seen and seen:
            seen = set()
            continue
        chosen.append(best)
        seen |= models[best][0]
    return chosen


@given(MODELS, st.integers(0, 9))
def test_it_is_the_greedy_choice(models, count):
    assert choose(models, count) == slow_twin(models, count)


@given(MODELS, st.integers(1, 5))
def test_no_models_of_that_total_size_cover_much_more(models, count):
    def held(chosen):
        return len(frozenset().union(*(models[at][0] for at in chosen)))

    def size(chosen):
        return sum(models[at][1] for at in chosen)

    made = choose(models, count)
    others = (c for n in range(len(models) + 1) for c in combinations(range(len(models)), n))
    best = max(held(other) for other in others if size(other) <= size(made))
    assert held(made) >= (1 - 1 / e) * best


def elements(graphs):
    return frozenset().union(*(covered_elements(graph).all for graph in graphs))


def test_models_of_a_campaign_that_are_run_cover_more_than_the_first_ones():
    made = run_campaign(SEEDS, generate_params(models=12), 0, "memo")
    graphs = [mutant.graph for mutant in made.mutants]
    for count in (1, 3, 6):
        chosen = made.choose_broadest(count)
        assert len(set(chosen)) == len(chosen) == count
        assert len(elements(graphs[at] for at in chosen)) > len(elements(graphs[:count]))
    for count in (None, 12, 99):
        assert sorted(made.choose_broadest(count)) == list(range(12))


def test_of_models_that_cover_the_same_the_one_of_fewest_steps_is_run():
    made = GenerationCampaign(Coverage())
    for steps in (9, 3, 6):
        made.add(Mutant(sequential(Tensor((steps, 2)), [layer("LSTM", units=2)]), "", "", 0))
    assert made.choose_broadest(1) == [1]


@pytest.mark.parametrize(
    ("shape", "kind", "config", "steps", "cost"),
    [
        ((4,), "ReLU", {}, 1, 1),
        ((5, 2), "LSTM", {"units": 2}, 5, 14 + 3 * 5),
        ((5, 2), "Bidirectional", {"layer": "LSTM", "units": 2}, 10, 35 + 6 * 5),
        ((5, 2), "TimeDistributed", {"layer": "Dense"}, 5, 1 + 3 * 5),
        ((6, 5, 3), "TimeDistributed", {"layer": "LSTM"}, 30, None),
        ((3, 4, 2), "ConvLSTM1D", {"filters": 2, "kernel_size": [2]}, 3, 35 + 13 * 3),
        ((3, 4, 2), "ConvLSTM1D", {"filters": 2, "kernel_size": [2], **FIRST}, 3, 35 + 13 * 3),
        (
            *((3, 4, 4, 4, 2), "ConvLSTM3D", {"filters": 2, "kernel_size": [2] * 3, **FIRST}),
            *(3, 35 + 113 * 3),
        ),
    ],
)
def test_a_loop_takes_its_steps_and_costs_what_it_was_measured_to_cost(
    shape, kind, config, steps, cost
):
    alone = sequential(Tensor(shape), [layer(kind, **config)])
    assert alone.steps == steps and cost in (None, estimate_cost(alone) - MODEL_COST)
    assert alone.add(Node("ReLU", {}, (1,)))[0].steps == steps + 1
    assert estimate_cost(sequential(Tensor((4,)), [layer("ReLU")] * 3)) == MODEL_COST + 3
