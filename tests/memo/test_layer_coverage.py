"""Coverage against slow twins, and its properties."""

from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.core.random_streams import stream
from asterism.memo.generating.operators import OPERATORS, MutationContext
from asterism.memo.graphs.coverage import (
    PAPER_PAIRS,
    Coverage,
    coverage_of,
    covered_elements,
    declared_coverage,
    restrict_to_paper,
)
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import InvalidLayerError
from memo.coverage_twins import (
    slow_inputs,
    slow_meet,
    slow_only_repaired,
    slow_pairs,
    slow_parameters,
    slow_types,
)
from memo.small_graphs import branching, convolutional, recurrent


def some_models(count=12):
    graphs = [convolutional(), recurrent(), branching()]
    for number in range(count):
        name = ("NLA", "LMerg", "CMode", "CShape", "MDtype", "LResh")[number % 6]
        try:
            context = MutationContext(stream(3, number))
            graphs.append(OPERATORS[name].mutate(graphs[number % len(graphs)], context))
        except InvalidLayerError:
            continue
    return graphs


MODELS = some_models()


def test_the_coverages_equal_their_slow_twins():
    coverage = coverage_of(MODELS)
    assert coverage.types == slow_types(MODELS)
    assert coverage.pairs == slow_pairs(MODELS)
    assert coverage.pairs - coverage.direct_pairs == slow_only_repaired(MODELS)
    assert coverage.parameters == slow_parameters(MODELS)
    assert coverage.inputs == slow_inputs(MODELS)
    assert len(coverage.pairs) > 10
    for graph in MODELS:
        elements = covered_elements(graph)
        assert elements.pairs == slow_pairs([graph])
        assert elements.repaired == slow_only_repaired([graph])


@given(st.permutations(range(len(MODELS))), st.integers(0, len(MODELS)))
@settings(max_examples=25, deadline=None)
def test_coverage_is_monotone_and_independent_of_order(order, cut):
    some, every = coverage_of([MODELS[i] for i in order[:cut]]), coverage_of(MODELS)
    shuffled = coverage_of([MODELS[i] for i in order])
    assert shuffled == every
    for kind, share in some.rates().items():
        if kind != "pairs_only_repaired":
            assert share <= every.rates()[kind]


def test_gain_is_what_an_update_adds():
    coverage = Coverage()

    def size():
        return sum(map(len, (coverage.types, coverage.pairs, coverage.parameters, coverage.inputs)))

    for graph in MODELS:
        before, gain = size(), coverage.gain(covered_elements(graph))
        coverage.update(covered_elements(graph))
        assert gain == size() - before


def test_a_pair_that_also_meets_directly_is_not_one_that_only_a_repair_lets_meet():
    both = Graph(
        {
            0: input_node((6, 4)),
            1: Node("Dense", {"units": 3}, (0,)),
            2: Node("LSTM", {"units": 6}, (1,)),
            3: Node("Dense", {"units": 6}, (2,)),
            4: Node("Reshape", {"target_shape": [2, 3]}, (3,), repair=True),
            5: Node("LSTM", {"units": 2}, (4,)),
            6: Node("GRU", {"units": 2}, (4,)),
        }
    )
    elements = covered_elements(both)
    assert elements.types == {"Dense", "LSTM", "GRU"}, "a repair is no layer"
    assert elements.pairs == {("Dense", "LSTM"), ("LSTM", "Dense"), ("Dense", "GRU")}
    assert elements.repaired == slow_only_repaired([both]) == {("Dense", "GRU")}
    coverage = coverage_of([both])
    assert coverage.direct_pairs == {("Dense", "LSTM"), ("LSTM", "Dense")}
    assert coverage.rates()["pairs_only_repaired"] == 1 / len(declared_coverage().pairs)


def test_declared_pairs_are_those_that_were_seen_to_meet():
    layers = set(universe())
    assert declared_coverage().types == layers
    assert declared_coverage().pairs == {(a, b) for a in layers for b in layers if slow_meet(a, b)}
    assert ("Flatten", "Conv2D") not in declared_coverage().pairs  # rank 2 never meets rank 4
    assert ("Dense", "Embedding") not in declared_coverage().pairs  # floats are no words


def test_the_paper_s_families_stand_beside_the_whole():
    whole, paper = declared_coverage(), restrict_to_paper()
    assert paper.types < whole.types and "Dense" not in paper.types
    assert paper.parameters < whole.parameters
    assert not [p for p in paper.pairs if p[0] == p[1] or "Dense" in p]
    assert PAPER_PAIRS == 3660
    rates = coverage_of(MODELS).rates()
    for kind in ("types", "parameters"):
        seen = getattr(coverage_of(MODELS), kind) & getattr(paper, kind)
        assert rates[f"paper_{kind}"] == len(seen) / len(getattr(paper, kind))
