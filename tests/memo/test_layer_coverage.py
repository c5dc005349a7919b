"""Coverage against slow twins, and its properties."""

from functools import cache
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.core.streams import stream
from asterism.memo.generating.operator import OPERATORS, Context
from asterism.memo.graphs.coverage import PAPER_PAIRS, Coverage, declared, elements_of, of_the_paper
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.universe.parameters import Choice, Number, Shaped, Sizes
from asterism.memo.universe.spec import MAX_RANK, universe
from asterism.memo.universe.tensors import InvalidLayerError, Tensor
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
NUMBERS = sorted(
    {p for s in universe().values() for p in s.parameters if isinstance(p, Number)}, key=repr
)


def slow_types(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type != "InputLayer" and not node.repair:
                seen.add(node.type)
    return seen


@cache
def observed_ranks(name):
    """Ranks that a layer's outputs have when it is configured at random, over all its inputs."""
    spec, ranks = universe()[name], set()
    count = spec.arity[0]
    for chosen in product(sorted(spec.ranks), repeat=count if name == "Dot" else 1):
        chosen = (chosen * count)[:count]
        tensors = [Tensor((4,) * (rank - 1), spec.dtypes[0]) for rank in chosen]
        for number in range(24):
            config = spec.draw(stream(8, name, *chosen, number), tensors)
            if name == "Reshape":  # its draws leave the highest rank to ConvLSTM3D's inputs
                axes = number % (MAX_RANK - 1)
                config["target_shape"] = [*[1] * axes, tensors[0].size]
            try:
                ranks.add(spec.output(config, tensors).rank)
            except InvalidLayerError:
                continue
    return ranks


def slow_meet(first, second):
    """Whether some output of the first was seen that the second reads."""
    reads_floats = any(dtype.startswith("float") for dtype in universe()[second].dtypes)
    return reads_floats and any(r in universe()[second].ranks for r in observed_ranks(first))


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
                elif slow_meet(graph.nodes[first].type, graph.nodes[reader].type):
                    seen.add((graph.nodes[first].type, graph.nodes[reader].type))
    return seen


def slow_bin(value, low, high, integer):
    """The bin of a number by going through all of them, or through the edges from below."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not low <= value <= high:
        return None
    if integer:
        numbers = list(range(int(low), int(high) + 1))
        bins = min(5, len(numbers))
        return f"bin{bins * numbers.index(value) // len(numbers)}"
    edges = [low + (high - low) * n / 5 for n in range(1, 5)]
    return f"bin{sum(value >= edge for edge in edges)}"


def slow_labels(parameter, value):
    """Options that a value covers, by the meaning of each kind of declaration."""
    if isinstance(parameter, Choice):
        return {str(v) for v in parameter.values if str(v) == str(value)}
    if isinstance(parameter, Number):
        found = {slow_bin(value, parameter.low, parameter.high, parameter.integer)}
    elif isinstance(parameter, Sizes):
        values = value if isinstance(value, list) else [value]
        found = {slow_bin(v, parameter.low, parameter.high, True) for v in values}
    else:
        assert isinstance(parameter, Shaped)
        return {parameter.kind_of(value)} & set(parameter.kinds)
    return set() if None in found else found


def slow_parameters(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type == "InputLayer" or node.repair:
                continue
            for name, value in node.config.items():
                for parameter in universe()[node.type].all_parameters:
                    if parameter.name == name:
                        seen |= {(node.type, name, o) for o in slow_labels(parameter, value)}
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


def test_declared_pairs_are_those_that_were_seen_to_meet():
    layers = universe()
    assert declared().pairs == {(a, b) for a in layers for b in layers if slow_meet(a, b)}


@given(st.sampled_from(NUMBERS), st.integers(-3, 70) | st.floats(-3, 70, allow_nan=False))
@settings(max_examples=80, deadline=None)
def test_the_bins_of_numbers_equal_their_slow_twin(number, value):
    if number.integer and not isinstance(value, int):
        value = round(value)
    assert set(number.labels(value)) == slow_labels(number, value)


def test_the_paper_s_families_stand_beside_the_whole():
    whole, paper = declared(), of_the_paper()
    assert paper.types < whole.types and "Dense" not in paper.types
    assert paper.parameters < whole.parameters
    assert not [p for p in paper.pairs if p[0] == p[1] or "Dense" in p]
    rates = covered(MODELS).rates()
    for kind in ("types", "parameters"):
        seen = getattr(covered(MODELS), kind) & getattr(paper, kind)
        assert rates[f"paper_{kind}"] == len(seen) / len(getattr(paper, kind))


def test_denominators():
    whole = declared()
    assert PAPER_PAIRS == 3660
    assert len(whole.types) == len(universe())
    assert len(whole.pairs) < len(whole.types) ** 2
    assert ("Flatten", "Conv2D") not in whole.pairs  # rank 2 never meets rank 4
    assert ("Dense", "Embedding") not in whole.pairs  # floats are no words
