"""Shrinking and grouping, with a made-up library: what shows a finding is a predicate."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.differential.oracle.finding import Finding
from asterism.differential.shrinking.reducer import TriageBudget
from asterism.differential.shrinking.shrink import shrink_model
from asterism.differential.shrinking.unique_finding import LayerAtFault, layer_at_fault
from asterism.differential.triage.groups import group_findings
from asterism.memo.graphs.graph import Graph, Node, WeightEdit, input_node
from asterism.memo.graphs.store import graph_from_json
from libraries.small_results import chained, straight, types
from memo.small_graphs import layer

KINDS = ("Dense", "ReLU", "LeakyReLU", "Softmax", "UnitNormalization", "Dropout")


class Asked:
    """Counts how often it is asked whether a model has all of some layer types, in that order."""

    def __init__(self, *wanted):
        self.wanted = list(wanted)
        self.graphs = []

    def __call__(self, graph):
        self.graphs.append(graph.to_json())
        rest = iter(types(graph))
        return all(w in rest for w in self.wanted)


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=24), st.integers(0, 23), st.booleans())
def test_one_layer_at_fault_is_all_that_is_left(kinds, at, known):
    graph = straight(kinds)
    suspect = graph.layers[at % len(kinds)]
    shows = Asked(graph.nodes[suspect].type)
    small = shrink_model(graph, shows, TriageBudget(200), suspect if known else None)
    assert types(small) == shows.wanted
    assert small.nodes[small.inputs[0]].config["shape"] == [1]


@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=16), st.data())
def test_two_layers_that_only_fail_together_both_stay(kinds, data):
    graph = straight(kinds)
    one = data.draw(st.integers(0, len(kinds) - 2))
    two = data.draw(st.integers(one + 1, len(kinds) - 1))
    shows = Asked(kinds[one], kinds[two])
    small = shrink_model(graph, shows, TriageBudget(500), graph.layers[two])
    assert types(small) == shows.wanted


def test_outputs_that_only_fail_together_both_stay():
    graph = Graph({0: input_node((4,))})
    for kind in ("ReLU", "Softmax", "LeakyReLU", "UnitNormalization"):
        graph, _ = graph.add(Node(kind, {"dtype": "float32"}, (0,)))

    def shows(candidate):
        return {"ReLU", "LeakyReLU"} <= {candidate.nodes[o].type for o in candidate.outputs}

    small = shrink_model(graph, shows, TriageBudget(100), graph.layers[0])
    assert sorted(types(small)) == ["LeakyReLU", "ReLU"]


def test_nothing_is_asked_twice():
    graph = straight(["Dense", "ReLU"] * 8 + ["LeakyReLU"])
    shows = Asked("Dense", "ReLU", "LeakyReLU")
    small = shrink_model(graph, shows, TriageBudget(500))
    assert types(small) == shows.wanted
    rejected = [g for g in list(shows.graphs) if not shows(graph_from_json(g))]
    assert len(rejected) == len({str(g) for g in rejected})


@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=12), st.integers(0, 60), st.data())
def test_it_says_that_it_was_stopped_exactly_where_more_steps_were_wanted(kinds, steps, data):
    graph, at = straight(kinds), st.integers(0, len(kinds) - 1)
    wanted = [kinds[i] for i in sorted({data.draw(at), data.draw(at)})]
    all_steps = Asked(*wanted)
    smallest = shrink_model(graph, all_steps, TriageBudget(1000))
    shows = Asked(*wanted)
    budget = TriageBudget(steps)
    small = shrink_model(graph, shows, budget)
    assert bool(budget.untried) == (steps < len(all_steps.graphs))
    assert len(shows.graphs) == min(steps, len(all_steps.graphs))
    assert budget.untried or small == smallest


def test_the_one_parameter_that_matters_is_found_in_few_steps():
    config = {
        "units": 3,
        "activation": "tanh",
        "use_bias": False,
        "kernel_initializer": "ones",
        "kernel_regularizer": "l2",
        "kernel_constraint": "max_norm",
        "bias_regularizer": "l1",
    }
    graph = chained((4,), layer("Dense", **config))
    identity = graph.layers[0]
    graph = graph.change(identity, edits=(WeightEdit("special", 1),))
    asked = []

    def shows(candidate):
        asked.append(candidate)
        return candidate.nodes[candidate.layers[0]].config["activation"] == "tanh"

    small = shrink_model(graph, shows, TriageBudget(30))
    node = small.nodes[small.layers[0]]
    assert layer_at_fault(small, small.layers[0]) == LayerAtFault(
        "Dense", frozenset({("activation", "tanh")})
    )
    assert node.edits == ()
    assert str(layer_at_fault(small, small.layers[0])) == "Dense(activation=tanh)"


def test_kernels_and_filters_shrink_with_the_input_as_far_as_they_may():
    config = {"filters": 24, "kernel_size": [5, 4], "data_format": "channels_first"}
    graph = chained((9, 8, 7), layer("Conv2D", **config))

    def shows(candidate):
        return candidate.nodes[candidate.layers[0]].config["filters"] >= 2

    small = shrink_model(graph, shows, TriageBudget(100))
    node = small.nodes[small.layers[0]]
    assert (node.config["filters"], node.config["kernel_size"]) == (2, [1, 1])
    assert small.nodes[small.inputs[0]].config["shape"] == [1, 1, 1]


def test_a_layer_with_fewer_parameters_off_their_defaults_explains_one_with_more():
    plain = LayerAtFault("Conv2D", frozenset())
    same = LayerAtFault("Conv2D", frozenset({("padding", "same")}))
    other = LayerAtFault("Conv1D", frozenset({("padding", "same")}))
    assert plain.explains(same) and same.explains(same)
    assert not same.explains(plain) and not plain.explains(other)


def finding(model, symptom, library, **more):
    return Finding(model, symptom, "run", library, (f"{library}:x",), **more)


def test_the_most_telling_groups_come_first_and_go_round():
    exception = {"exception": "ValueError", "frame": "a:b", "message": "no"}
    found = [
        finding(0, "error", "jax", **exception),
        finding(1, "error", "jax", **exception),
        finding(2, "values differ", "litert", severity="special", excess=1e9),
        finding(3, "values differ", "openvino", excess=5.0),
        finding(4, "values differ", "openvino", excess=50.0),
        finding(5, "wrong dtype", "litert"),
        finding(6, "crash", "pytorch", exception="SIGSEGV"),
        finding(7, "hang", "jax"),
    ]
    order = [[f.model for f in group] for group in group_findings(found)]
    # Within a kind the farthest off is first; its second group waits for all the other kinds.
    assert order == [[6], [7], [4], [0, 1], [5], [2], [3]]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_does_not_depend_on_the_order_of_findings(seed):
    found = [
        finding(m, s, lib, excess=float(m))
        for m, s in enumerate(["values differ", "hang", "wrong shape"] * 2)
        for lib in ("jax", "litert")
    ]
    shuffled = found[:]
    random.Random(seed).shuffle(shuffled)
    assert group_findings(shuffled) == group_findings(found)
