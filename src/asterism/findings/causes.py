"""Whether two findings have one cause: the same place, and each model shows what the other does.

Two findings of one library are compared where they lie in the same family of layers and need the
same parameters. One's model with the other's values and kind of inputs must show the other's
symptom.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.differential.oracle.finding import Finding
from asterism.differential.report.script_writer import REPRO
from asterism.differential.triage.reproduction import Reproduction
from asterism.findings.entry import Entry, place_of
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import InvalidLayerError

#: A node in ONNX's text: ``y = Relu (x)``.
_NODE = re.compile(r"= ([A-Z]\w*) [<(]")


@dataclass(frozen=True)
class Candidate:
    """A confirmed finding that may get a folder of its own.

    Args:
        entry: its facts.
        folder: of its script and report.
        graph: the minimal model; None where an ONNX operator showed it.
        node: the layer at fault in it.
        finding: as the oracle has it.
    """

    entry: Entry
    folder: Path
    graph: Graph | None = None
    node: int = 0
    finding: Finding | None = None

    @property
    def operators(self) -> frozenset[str]:
        """ONNX operators in the text of its script; none where it has no such text."""
        text = (self.folder / REPRO).read_text(encoding="utf-8")
        return frozenset(_NODE.findall(text) if "onnx.parser" in text else ())


def same_place(one: Candidate, other: Candidate) -> bool:
    """Whether two findings may have one cause, by library, family of layers and parameters.

    An exception with another type or frame is another cause. A model of an operator lies in the
    place of a layer whose ONNX text has that operator, and of an activation that is it. Of special
    inputs an operator has one finding, whatever its attributes.
    """
    first, second = one.entry, other.entry
    if "call" in (first.source, second.source):
        return _same_function(first, second)
    if _runtime(first) != _runtime(second) or first.by_values != second.by_values:
        return False
    if not first.by_values and _failure(first) != _failure(second):
        return False
    if first.source != second.source:
        operator, layer = (one, other) if first.source == "operator" else (other, one)
        activation = layer.entry.parameters.get("activation", "").replace("_", "")
        return operator.entry.layer in layer.operators or (
            layer.entry.layer == "Activation" and operator.entry.layer.lower() == activation
        )
    places = [place_of(e.layer, e.parameters, e.symptom) for e in (first, second)]
    if first.source == "operator" and not (first.is_ordinary or second.is_ordinary):
        return places[0][0] == places[1][0]
    return places[0] == places[1]


def have_one_cause(show: Callable[[], Reproduction], one: Candidate, other: Candidate) -> bool:
    """Whether one's model shows the other's symptom under the other's change.

    Args:
        show: gives what runs models; only called where one has to run.
        one: a finding.
        other: another one in the same place.
    """
    if one.entry.signature == other.entry.signature:
        return True
    alike = one.entry.symptom == other.entry.symptom
    if alike and one.entry.inputs == other.entry.inputs:
        return True
    if one.graph is None or other.finding is None or one.finding is None:
        return alike
    changed = _with_values(one, other)
    if changed is None:
        return False
    wanted = replace(other.finding, model=one.finding.model)
    found = show().look(changed, wanted).finding
    return found is not None and found.library == other.finding.library


def _same_function(first: Entry, second: Entry) -> bool:
    """Whether a call of a function and another finding may have one cause.

    Two calls do where they lie in one place and options that decide do not stand apart. With a
    layer or an operator, a call shares its name.
    """
    if first.source == second.source:
        options = [{n for n in e.parameters if " of " not in n} for e in (first, second)]
        apart = all(options) and not options[0] & options[1] and first.by_values
        return first.finding["place"] == second.finding["place"] and not apart
    alike = _runtime(first) == _runtime(second) and first.by_values == second.by_values
    return alike and _plain_name(first.layer) == _plain_name(second.layer)


def _plain_name(function: str) -> str:
    """The letters of a function's last name."""
    return re.sub(r"[^a-z]", "", function.lower().rpartition(".")[2].partition(" ")[0])


def _runtime(entry: Entry) -> str:
    """The library that computes: Keras' OpenVINO backend is OpenVINO."""
    return entry.library.removesuffix("_keras") if entry.by_values else entry.library


def _failure(entry: Entry) -> tuple[str, str, str]:
    facts = entry.finding
    return entry.symptom, str(facts.get("exception", "")), str(facts.get("frame", ""))


def _with_values(one: Candidate, other: Candidate) -> Graph | None:
    """One's model with the other's values of the parameters that both need."""
    assert one.graph is not None and other.graph is not None
    node, given = one.graph.nodes[one.node], other.graph.nodes[other.node].config
    values = {name: given[name] for name in other.entry.parameters if name in given}
    known = universe()[node.type].names
    try:
        return one.graph.change(
            one.node,
            config={**node.config, **{n: v for n, v in values.items() if n in known}},
        )
    except InvalidLayerError:
        return None
