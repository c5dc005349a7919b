"""Coverage against slow twins, and its properties."""

from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.core.streams import stream
from asterism.memo.coverage import PAPER_PAIRS, Coverage, can_meet, declared, elements_of
from asterism.memo.graph import Graph, Node, input_node
from asterism.memo.operator import OPERATORS, Context
from asterism.memo.spec import universe
from asterism.memo.tensors import InvalidLayerError
from memo.small_graphs import branching, convolutional, recurrent


def some_models(count=12):
    graphs = [convolutional(), recurrent(), branching()]
    for number in range(count):
        name = ("NLA", "LMerg", "CMode", "CShape", "MDtype", "LResh")[number % 6]
        try:
            context = Context(stream(3, number))
            graphs.append(OPERATORS[name].mutate(graphs[number % len(graphs)], context))
        except InvalidLayerError:
            continue
    return graphs


MODELS = some_models()


def slow_types(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type != "InputLayer" and not node.repair:
                seen.add(node.type)
    return seen


def slow_pairs(graphs):
    """Every path from a layer to a layer over nothing but repairs, walked one by one."""
    seen = set()
    for graph in graphs:
        for first in graph.nodes:
            if graph.nodes[first].type == "InputLayer" or graph.nodes[first].repair:
                continue
            waiting = list(graph.consumers[first])
            while waiting:
                reader = waiting.pop()
                if graph.nodes[reader].repair:
                    waiting.extend(graph.consumers[reader])
                elif can_meet(
                    universe()[graph.nodes[first].type], universe()[graph.nodes[reader].type]
                ):
                    seen.add((graph.nodes[first].type, graph.nodes[reader].type))
    return seen


def slow_parameters(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type == "InputLayer" or node.repair:
                continue
            for name, value in node.config.items():
                for parameter in universe()[node.type].all_parameters:
                    if parameter.name == name:
                        for option in parameter.options:
                            if option in parameter.labels(value):
                                seen.add((node.type, name, option))
    return seen


def covered(graphs):
    coverage = Coverage()
    for graph in graphs:
        coverage.update(elements_of(graph))
    return coverage


def test_the_three_coverages_equal_their_slow_twins():
    coverage = covered(MODELS)
    assert coverage.types == slow_types(MODELS)
    assert coverage.pairs == slow_pairs(MODELS)
    assert coverage.parameters == slow_parameters(MODELS)
    assert len(coverage.pairs) > 10


@given(st.permutations(range(len(MODELS))), st.integers(0, len(MODELS)))
@settings(max_examples=25, deadline=None)
def test_coverage_is_monotone_and_independent_of_order(order, cut):
    some, every = covered([MODELS[i] for i in order[:cut]]), covered(MODELS)
    shuffled = covered([MODELS[i] for i in order])
    assert shuffled == every
    for kind, share in some.rates().items():
        if kind != "pairs_only_repaired":
            assert share <= every.rates()[kind]


def test_gain_is_what_an_update_adds():
    coverage = Coverage()
    for graph in MODELS:
        before = sum(
            map(len, (coverage.types, coverage.pairs, coverage.parameters, coverage.inputs))
        )
        gain = coverage.gain(elements_of(graph))
        coverage.update(elements_of(graph))
        after = sum(
            map(len, (coverage.types, coverage.pairs, coverage.parameters, coverage.inputs))
        )
        assert gain == after - before


def test_an_edge_through_a_repair_is_a_marked_pair_and_the_repair_no_layer():
    graph = Graph(
        {
            0: input_node((4,)),
            1: Node("Dense", {"units": 6}, (0,)),
            2: Node("Reshape", {"target_shape": [2, 3]}, (1,), repair=True),
            3: Node("LSTM", {"units": 2}, (2,)),
        }
    )
    elements = elements_of(graph)
    assert elements.types == {"Dense", "LSTM"}
    assert elements.pairs == elements.repaired == {("Dense", "LSTM")}
    direct = Graph({**graph.nodes, 2: Node("Reshape", {"target_shape": [2, 3]}, (1,))})
    assert elements_of(direct).pairs == {("Dense", "Reshape"), ("Reshape", "LSTM")}
    assert not elements_of(direct).repaired


def test_values_outside_the_declaration_count_nowhere():
    inside = Graph({0: input_node((4,)), 1: Node("Dense", {"units": 20}, (0,))})
    outside = Graph({0: input_node((4,)), 1: Node("Dense", {"units": 4096}, (0,))})
    assert ("Dense", "units", "bin4") in elements_of(inside).parameters
    assert not [p for p in elements_of(outside).parameters if p[1] == "units"]


def test_denominators():
    whole = declared()
    assert PAPER_PAIRS == 3660
    assert len(whole.types) == len(universe())
    assert len(whole.pairs) < len(whole.types) ** 2
    assert ("Flatten", "Conv2D") not in whole.pairs  # rank 2 never meets rank 4
    assert ("Dense", "Embedding") not in whole.pairs  # floats are no words
