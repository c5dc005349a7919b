"""One cause or two: each model must show what the other does, under the other's change."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from small_findings import entry, finding

from asterism.findings.causes import Candidate, have_one_cause
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer


class Shows:
    """Runs no model: it says of each whether it shows the finding, and keeps what it was asked."""

    def __init__(self, right):
        self.right, self.asked = right, []

    def look(self, graph, wanted):
        self.asked.append((graph, wanted))
        return SimpleNamespace(finding=wanted if self.right(graph) else None)


def candidate(name, inputs, **config):
    graph = sequential(Tensor((6, 3)), [layer("Conv1D", filters=2, kernel_size=2, **config)])
    facts = entry(
        name, layer="Conv1D", inputs=inputs, parameters={k: str(v) for k, v in config.items()}
    )
    return Candidate(facts, None, graph, 1, finding(distributions=(inputs,)))


def test_the_same_symptom_with_the_same_inputs_is_one_finding():
    show = Shows(lambda graph: False)
    assert have_one_cause(lambda: show, candidate("one", "normal"), candidate("two", "normal"))
    assert not show.asked


@pytest.mark.parametrize("shown", [True, False])
def test_other_inputs_are_tried_on_the_first_model(shown):
    show = Shows(lambda graph: shown)
    one = candidate("one", "normal", strides=[2])
    other = candidate("two", "nan", strides=[3])
    assert have_one_cause(lambda: show, one, other) is shown
    ((graph, wanted),) = show.asked
    assert graph.nodes[1].config["strides"] == [3]
    assert wanted.distributions == ("nan",)


def test_a_finding_of_another_library_is_not_the_same():
    one, other = candidate("one", "normal"), candidate("two", "nan")
    show = SimpleNamespace(
        look=lambda graph, wanted: SimpleNamespace(finding=replace(wanted, library="pytorch"))
    )
    assert not have_one_cause(lambda: show, one, other)
