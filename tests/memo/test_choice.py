"""The choice of few models that cover much."""

from itertools import combinations
from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.memo.choice import broadest
from asterism.memo.coverage import elements_of
from asterism.memo.generate import campaign
from memo.test_generation import SEEDS, params

COVERED = st.lists(st.frozensets(st.integers(0, 12)), max_size=9)


def slow_twin(covered, count):
    """The greedy choice as its docstring has it, counting everything at every choice."""
    chosen, seen = [], set()
    while len(chosen) < min(count, len(covered)):
        rest = [at for at in range(len(covered)) if at not in chosen]
        best = max(rest, key=lambda at: len(covered[at] - seen))
        if not covered[best] - seen and seen:
            seen = set()
            continue
        chosen.append(best)
        seen |= covered[best]
    return chosen


@given(COVERED, st.integers(0, 10))
def test_it_is_the_greedy_choice(covered, count):
    assert broadest(covered, count) == slow_twin(covered, count)


@given(COVERED, st.integers(1, 4))
def test_no_choice_of_as_many_covers_much_more(covered, count):
    def held(chosen):
        return len(frozenset().union(*(covered[at] for at in chosen)))

    best = max(
        (held(chosen) for chosen in combinations(range(len(covered)), min(count, len(covered)))),
        default=0,
    )
    assert held(broadest(covered, count)) >= (1 - 1 / e) * best


@given(COVERED)
def test_every_model_comes_once_when_all_are_asked_for(covered):
    assert sorted(broadest(covered, len(covered) + 3)) == list(range(len(covered)))


def elements(graphs):
    return frozenset().union(*(elements_of(graph).all for graph in graphs))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_models_of_a_campaign_that_are_run_cover_more_than_the_first_ones(count):
    made = campaign(SEEDS, params(models=12), 0, "memo")
    graphs = [mutant.graph for mutant in made.mutants]
    chosen = made.broadest(count)
    assert chosen == sorted(set(chosen)) and len(chosen) == count
    assert len(elements(graphs[at] for at in chosen)) > len(elements(graphs[:count]))


@pytest.mark.parametrize("count", [None, 12, 99])
def test_all_models_of_a_campaign_can_be_run(count):
    assert campaign(SEEDS, params(models=12), 0, "memo").broadest(count) == list(range(12))
