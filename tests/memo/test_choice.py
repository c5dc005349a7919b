"""The choice of few models that cover much."""

from itertools import combinations
from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.memo.generating.campaign import GenerationCampaign, Mutant
from asterism.memo.generating.choice import MODEL_COST, broadest, cost_of
from asterism.memo.generating.strategy import campaign
from asterism.memo.graphs.coverage import Coverage, elements_of
from asterism.memo.graphs.graph import Node, sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import generate_params, layer
from memo.test_generation import SEEDS

FIRST = {"data_format": "channels_first"}
MODELS = st.lists(st.tuples(st.frozensets(st.integers(0, 12)), st.integers(1, 4)), max_size=8)


def choose(models, count):
    return broadest([covered for covered, _ in models], [size for _, size in models], count)


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


@given(MODELS)
def test_every_model_comes_once_when_all_are_asked_for(models):
    assert sorted(choose(models, len(models) + 3)) == list(range(len(models)))


def elements(graphs):
    return frozenset().union(*(elements_of(graph).all for graph in graphs))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_models_of_a_campaign_that_are_run_cover_more_than_the_first_ones(count):
    made = campaign(SEEDS, generate_params(models=12), 0, "memo")
    graphs = [mutant.graph for mutant in made.mutants]
    chosen = made.broadest(count)
    assert len(set(chosen)) == len(chosen) == count
    assert len(elements(graphs[at] for at in chosen)) > len(elements(graphs[:count]))


@pytest.mark.parametrize("count", [None, 12, 99])
def test_all_models_of_a_campaign_can_be_run(count):
    chosen = campaign(SEEDS, generate_params(models=12), 0, "memo").broadest(count)
    assert sorted(chosen) == list(range(12))


def test_of_models_that_cover_the_same_the_one_of_fewest_steps_is_run():
    made = GenerationCampaign(Coverage())
    for steps in (9, 3, 6):
        made.add(Mutant(sequential(Tensor((steps, 2)), [layer("LSTM", units=2)]), "", "", 0))
    assert made.broadest(1) == [1]


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
    assert alone.steps == steps and cost in (None, cost_of(alone) - MODEL_COST)
    assert alone.add(Node("ReLU", {}, (1,)))[0].steps == steps + 1
    assert cost_of(sequential(Tensor((4,)), [layer("ReLU")] * 3)) == MODEL_COST + 3
