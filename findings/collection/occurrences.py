"""Small subjects that show findings: one for each cause, with what decides, and its candidate.

A subject is one operator or one call of a function. Of all that show a finding, what decides are
the facts which, changed alone, make it vanish. Two findings have one cause where the same symptom
shows in one place: a library, a family of layers, and the parameters that are needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from asterism.differential.report.script_writer import REPRO
from asterism.differential.report.writing import CONFIRMATIONS
from collection.checking import bug_lives
from collection.entry import CollectedFinding, place_of

#: A node in ONNX's text: ``y = Relu (x)``.
_NODE = re.compile(r"= ([A-Z]\w*) [<(]")

S = TypeVar("S")


@dataclass(frozen=True)
class FindingOccurrence(Generic[S]):
    """A subject that shows a finding.

    Args:
        subject: what ran.
        entry: what it shows, with the facts that decide as parameters.
        place: where the cause lies; of other places it is another one.
        rank: of two with one cause the lower one stands for both.
        options: names of facts that tell causes in one place apart.
        details: what was seen, in words.
    """

    subject: S
    entry: CollectedFinding
    place: tuple[str, ...] = ()
    rank: tuple[int, ...] = ()
    options: frozenset[str] = frozenset()
    details: str = ""


def deciding_facts(facts: Mapping[str, str], right: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Facts of one subject which, changed alone, make a finding vanish.

    Args:
        facts: of the subject that shows it.
        right: of subjects that do not.
    """
    needed: dict[str, str] = {}
    for theirs in right:
        differing = {n for n in {*facts, *theirs} if facts.get(n) != theirs.get(n)}
        kinds = {n.partition(" of ")[0] for n in differing}
        if len(differing) == 1 or kinds in ({"dtype"}, {"shape"}):
            needed |= {name: facts[name] for name in differing if name in facts}
    return needed


def distinct_causes(
    occurrences: Iterable[FindingOccurrence[S]],
) -> list[tuple[FindingOccurrence[S], list[str]]]:
    """One occurrence for each cause, ordinary inputs first, and the signatures of its others."""
    kept: dict[tuple[str, ...], list[tuple[FindingOccurrence[S], set[str]]]] = {}
    for occurrence in sorted(occurrences, key=lambda s: (not s.entry.is_ordinary, *s.rank)):
        here = kept.setdefault(occurrence.place, [])
        same = next((known for known in here if _have_one_cause(known[0], occurrence)), None)
        if same is None:
            here.append((occurrence, set()))
        else:
            same[1].add(occurrence.entry.signature)
    return [
        (first, sorted(others - {first.entry.signature}))
        for rows in kept.values()
        for first, others in rows
    ]


def _have_one_cause(one: FindingOccurrence[S], other: FindingOccurrence[S]) -> bool:
    """Whether two in one place need something in common, or one of them nothing.

    Of special inputs a function has one finding, whatever it needs.
    """
    if one.options & other.options:
        return True
    if one.entry.is_ordinary != other.entry.is_ordinary:
        return False
    return not one.entry.is_ordinary or not (one.options and other.options)


#: Writes the script of an occurrence into an empty folder and says its facts; None where the script
#: shows nothing.
Writer = Callable[[FindingOccurrence[S], Path], CollectedFinding | None]


def confirmed_candidates(
    occurrences: Iterable[FindingOccurrence[S]],
    write: Writer[S],
    scratch: Path,
    is_new: Callable[[str, Sequence[str]], bool],
) -> Iterator[Candidate | None]:
    """A script for each cause; None for one that three fresh processes do not show.

    Args:
        occurrences: all that was seen.
        write: writes a script.
        scratch: for the folders.
        is_new: whether a collection wants a cause, by its signature and those of others of it.
    """
    for occurrence, others in distinct_causes(occurrences):
        if not is_new(occurrence.entry.signature, others):
            continue
        folder = scratch / occurrence.entry.name
        folder.mkdir(parents=True, exist_ok=True)
        seen = write(occurrence, folder)
        if seen is None:
            yield None
            continue
        entry = replace(seen, models=1 + len(others), also=tuple(others))
        yield Candidate(entry, folder) if bug_lives(entry, folder / REPRO, CONFIRMATIONS) else None


@dataclass(frozen=True)
class Candidate:
    """A confirmed finding that may get a folder of its own.

    Args:
        entry: its facts.
        folder: of its script and report.
    """

    entry: CollectedFinding
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


def _same_function(first: CollectedFinding, second: CollectedFinding) -> bool:
    """Whether a call of a function and another finding may have one cause.

    Two calls do where they lie in one place and options that decide do not stand apart. With a
    layer or an operator, a call shares its name.
    """
    if first.source == second.source:
        options = [{n for n in e.parameters if " of " not in n} for e in (first, second)]
        disjoint = all(options) and not options[0] & options[1] and first.by_values
        return first.finding["place"] == second.finding["place"] and not disjoint
    alike = _runtime(first) == _runtime(second) and first.by_values == second.by_values
    return alike and _plain_name(first.layer) == _plain_name(second.layer)


def _plain_name(function: str) -> str:
    """The letters of a function's last name."""
    return re.sub(r"[^a-z]", "", function.lower().rpartition(".")[2].partition(" ")[0])


def _runtime(entry: CollectedFinding) -> str:
    """The library that computes: Keras' OpenVINO backend is OpenVINO."""
    return entry.library.removesuffix("_keras") if entry.by_values else entry.library


def _failure(entry: CollectedFinding) -> tuple[str, str, str]:
    facts = entry.finding
    return entry.symptom, str(facts.get("exception", "")), str(facts.get("frame", ""))
