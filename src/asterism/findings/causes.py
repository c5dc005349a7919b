"""Whether two findings have one cause: the same symptom in one place.

A place is a library, a family of layers, and the parameters that are needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from asterism.differential.report.script_writer import REPRO
from asterism.findings.entry import Entry, place_of

#: A node in ONNX's text: ``y = Relu (x)``.
_NODE = re.compile(r"= ([A-Z]\w*) [<(]")


@dataclass(frozen=True)
class Candidate:
    """A confirmed finding that may get a folder of its own.

    Args:
        entry: its facts.
        folder: of its script and report.
    """

    entry: Entry
    folder: Path

    @property
    def operators(self) -> frozenset[str]:
        """ONNX operators in the text of its script; none where it has no such text."""
        text = (self.folder / REPRO).read_text(encoding="utf-8")
        return frozenset(_NODE.findall(text) if "onnx.parser" in text else ())


def have_one_cause(one: Candidate, other: Candidate) -> bool:
    """Whether two findings are one: by their name, or by place and symptom."""
    first, second = one.entry, other.entry
    if first.signature == second.signature:
        return True
    return first.symptom == second.symptom and same_place(one, other)


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
