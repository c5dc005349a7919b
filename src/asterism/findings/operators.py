"""Findings in models of one ONNX operator: what a comparison of two libraries has shown.

A library is wrong where the other one and ONNX's reference evaluator agree. Of all models of an
operator that show it, the attributes that decide are those which, changed alone, make it vanish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.files.artifacts import read_json
from asterism.findings.causes import Candidate
from asterism.findings.collecting import REPORT, name_of, versions_of_library
from asterism.findings.entry import Entry, place_of
from asterism.libraries.adapters.backends import OF_ONNX, product_of
from asterism.libraries.judging.compare import DIFFERENCES
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.bug_reports import CONFIRMATIONS
from asterism.libraries.reporting.confirming import death_of, exit_statuses
from asterism.libraries.reporting.decisions import comparing, failing
from asterism.libraries.reporting.computed_references import onnx_reference
from asterism.libraries.reporting.file_scripts import write_file_script
from asterism.libraries.reporting.markdown import block, code, shown
from asterism.libraries.reporting.numbers import MAKERS, Array
from asterism.libraries.reporting.onnx_text import onnx_text
from asterism.libraries.reporting.program_text import Runner, onnx_program
from asterism.libraries.reporting.script_writer import REPRO
from asterism.libraries.running.tasks import Result
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.versions.blaming import Part
from asterism.versions.comparing import Change, Pair, change_of
from asterism.versions.judging import run_subject
from asterism.versions.operators import operator_subjects
from asterism.versions.scripts import right_of
from asterism.versions.subjects import Subject

#: Changes that name a library which is wrong while another one and the reference agree.
_BLAMING = ("now wrong", "now right", "no longer runs", "now runs")

#: Special numbers that inputs may hold, as Python writes them.
_SPECIAL = {"nan": ("np.nan", np.nan), "infinity": ("np.inf", np.inf)}

@dataclass(frozen=True)
class Sighting:
    """A model of one operator that shows a finding.

    Args:
        subject: the model.
        inputs: kind of inputs.
        symptom: what is wrong.
        culprit: library to blame.
        kind: of the change.
        option: the way to run it.
    """

    subject: Subject
    inputs: str
    symptom: str
    culprit: str
    kind: str
    option: str

    @property
    def is_ordinary(self) -> bool:
        """Whether it needs no special inputs."""
        return self.inputs not in _SPECIAL

    @property
    def operator(self) -> str:
        """ONNX's name."""
        return str(self.subject.model.graph.node[0].op_type)


def sightings_of(comparison: Path, old: str, new: str) -> list[Sighting]:
    """What a comparison of two libraries on single operators has seen, unsupported left out.

    Args:
        comparison: the folder with ``changes.json``.
        old: the one library.
        new: the other.
    """
    subjects = {subject.name: subject for subject in operator_subjects()}
    found = []
    for change in read_json(comparison / "changes.json")["changes"]:
        if change["kind"] not in _BLAMING or change["said"].startswith("unsupported"):
            continue
        culprit = new if change["kind"] in ("now wrong", "no longer runs") else old
        off = change["new"] or change["old"]
        found.append(
            Sighting(
                subjects[change["model"]],
                change["inputs"],
                off[0] if off is not None else change["said"].partition(":")[0],
                culprit,
                change["kind"],
                change["option"],
            )
        )
    return found


def attributes_of(subject: Subject) -> dict[str, str]:
    """Attributes of a model's only node, and the shape of its constants, as text."""
    from onnx import helper

    (node,) = subject.model.graph.node
    return {a.name: str(_plain(helper.get_attribute_value(a))) for a in node.attribute}


def distinct(sightings: Sequence[Sighting]) -> list[tuple[Sighting, dict[str, str]]]:
    """One sighting for each cause, with the attributes that decide, ordinary inputs first.

    A model with two causes has no attribute that decides alone: it stands for none where another
    model has one. Of special inputs an operator has one finding, whatever its attributes.
    """
    subjects = list(operator_subjects())
    failing: dict[tuple[str, bool], set[str]] = {}
    for sighting in sightings:
        group = failing.setdefault((sighting.culprit, sighting.is_ordinary), set())
        group.add(sighting.subject.name)
    given = []
    for sighting in sightings:
        group = failing[sighting.culprit, sighting.is_ordinary]
        given.append((sighting, _deciding(sighting.subject, group, subjects)))
    given.sort(
        key=lambda g: (not g[0].is_ordinary, not g[1], len(g[1]), len(attributes_of(g[0].subject)))
    )
    found: dict[tuple[str, str, bool, frozenset[str]], tuple[Sighting, dict[str, str]]] = {}
    for sighting, needed in given:
        family, names = place_of(sighting.operator, needed, sighting.symptom)
        place = (sighting.culprit, family, sighting.symptom in DIFFERENCES)
        alike = {key[3]: other for key, (other, _) in found.items() if key[:3] == place}
        ordinary = sighting.is_ordinary
        if not (needed and ordinary) and any(o.is_ordinary == ordinary for o in alike.values()):
            continue
        if not any(earlier <= names for earlier in alike):
            found[(*place, names)] = sighting, needed
    return list(found.values())


def _deciding(subject: Subject, failing: set[str], subjects: Sequence[Subject]) -> dict[str, str]:
    """Attributes which, changed alone, make what fails vanish."""
    own = attributes_of(subject)
    shape = [spec.shape for spec in subject.inputs]
    needed = {}
    for other in subjects:
        if other.model.graph.node[0].op_type != subject.model.graph.node[0].op_type:
            continue
        if [spec.shape for spec in other.inputs] != shape or other.name in failing:
            continue
        theirs = attributes_of(other)
        apart = {n for n in {*own, *theirs} if own.get(n) != theirs.get(n)}
        if len(apart) == 1 and (name := apart.pop()) in own:
            needed[name] = own[name]
    return needed


def write_candidates(
    chosen: Sequence[tuple[Sighting, dict[str, str]]],
    pool: WorkerPool,
    pairs: Sequence[Pair],
    params: JudgeParams,
    seed: int,
    folder: Path,
) -> Iterator[Candidate]:
    """Write scripts and a report for each; gives those that three fresh processes show.

    Args:
        chosen: a sighting for each cause, and the attributes that decide.
        pool: started workers of both libraries and of the references.
        pairs: ways to run a file in both.
        params: tolerances.
        seed: of the inputs that the comparison drew.
        folder: for the results.
    """
    by_option = {pair.option: pair for pair in pairs}
    for sighting, needed in chosen:
        pair = by_option[sighting.option]
        made = _simplest(sighting, pool, pair, params, seed)
        if made is None:
            continue
        part, inputs = made
        signature = signature_of(sighting, needed)
        name = name_of(sighting.culprit, sighting.symptom, sighting.operator, signature)
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        _write_script(place, part, inputs, signature, params)
        death = death_of(part.change.at_fault)
        statuses = exit_statuses(place / REPRO, CONFIRMATIONS, death=death)
        if any(status != 1 for status in statuses):
            continue
        change = part.change
        other = pair.old if change.culprit == pair.new else pair.new
        entry = Entry(
            name=name,
            source="operator",
            signature=signature,
            library=product_of(sighting.culprit),
            symptom=sighting.symptom,
            severity="normal" if sighting.is_ordinary else "special",
            inputs=sighting.inputs,
            layer=sighting.operator,
            parameters=needed,
            backends=(change.culprit,),
            right=(other, OF_ONNX.right),
            versions=versions_of_library(product_of(sighting.culprit)),
            statuses=(1,) * CONFIRMATIONS,
            models=1,
            lines=(place / REPRO).read_text(encoding="utf-8").count("\n"),
        )
        (place / REPORT).write_text(_report(entry, place), encoding="utf-8")
        yield Candidate(entry, place)


def _simplest(
    sighting: Sighting, pool: WorkerPool, pair: Pair, params: JudgeParams, seed: int
) -> tuple[Part, list[Array] | None] | None:
    """The model on the simplest inputs that show it; on those that were drawn where none does."""
    subject, backends = sighting.subject, (pair.old, pair.new)
    drawn = subject.draw(seed, sighting.inputs)
    for arrays in (*_simple(sighting), None):
        given = drawn if arrays is None else [array.values for array in arrays]
        result: Result = run_subject(pool, subject, {sighting.inputs: given}, backends)
        change: Change = change_of(subject, result, pair, sighting.inputs, params)
        if change.kind == sighting.kind and change.at_fault.symptom == sighting.symptom:
            return Part(subject, given, change, result, 1, 1, finished=True), arrays
    return None


def _simple(sighting: Sighting) -> list[list[Array]]:
    """Simple inputs to try, the simplest first."""
    specs = sighting.subject.inputs
    if any(np.dtype(spec.dtype).kind != "f" for spec in specs):
        return []
    if sighting.inputs not in _SPECIAL:
        return [[m(s.shape, s.dtype, at) for at, s in enumerate(specs)] for m in MAKERS]
    text, number = _SPECIAL[sighting.inputs]
    full = [
        Array(np.full(s.shape, number, s.dtype), f"np.full({s.shape}, {text}, {s.dtype!r})")
        for s in specs
    ]
    ramps, drawn = ([m(s.shape, s.dtype, at) for at, s in enumerate(specs)] for m in MAKERS[2:])
    return [
        full,
        [full[0], *ramps[1:]],
        *(
            [_with_one(a, text, number, place) for a in arrays]
            for arrays in (ramps, drawn)
            for place in ("0", "-1", f"{ramps[0].values.size // 2}")
        ),
    ]


def _with_one(array: Array, text: str, number: float, place: str) -> Array:
    """The array with a special number at a place of its elements in their order."""
    flat = array.values.reshape(-1).copy()
    place = place if int(place) < flat.size else "0"
    flat[int(place)] = number
    shape, dtype = array.values.shape, str(array.values.dtype)
    at = int(place) % flat.size
    condition = f"np.arange({flat.size}).reshape({shape}) == {at}"
    source = f"np.where({condition}, {text}, {array.source}).astype({dtype!r})"
    return Array(flat.reshape(shape), source)


def signature_of(sighting: Sighting, needed: dict[str, str]) -> str:
    """A stable name: symptom, library, and the operator with the attributes that decide."""
    named = ", ".join(f"{name}={value}" for name, value in sorted(needed.items()))
    return f"{sighting.symptom} | {sighting.culprit} | {sighting.operator}({named})"


def _write_script(
    place: Path,
    part: Part,
    inputs: list[Array] | None,
    signature: str,
    params: JudgeParams,
) -> None:
    """The model as ONNX's text with the simple inputs; or its file, with the arrays beside it."""
    change, content = part.change, part.subject.content
    right, finding = right_of(part, params), part.change.at_fault
    text = onnx_text(content) if inputs is not None else None
    if text is None or inputs is None:
        facts = signature, change.culprit, content, part.inputs, right, finding
        write_file_script(place / REPRO, *facts)
        return
    (place / "model.onnx").write_bytes(content)
    runner = Runner.of([change.culprit])
    program = onnx_program(runner, text, "", inputs)
    if right is None:
        lines = failing(finding, program, "it runs")
    else:
        lines = comparing(program, right, onnx_reference(text, inputs, right))
    script = program.script(signature, runner.versions, lines)
    (place / REPRO).write_text(script, encoding="utf-8")


def _report(entry: Entry, place: Path) -> str:
    """In the shape that the libraries' bug templates ask for."""
    versions = "\n".join(f"- {name} {version}" for name, version in entry.versions.items())
    actual = "It fails." if not entry.by_values else f"{entry.symptom}."
    return f"""# {shown(entry.library)}: {shown(entry.symptom)} ({shown(entry.where)})

## Description

{code(entry.signature)}

The model has one node. It was seen with inputs of the kind {entry.inputs}, in {entry.backends[0]}.

## Steps to reproduce

`python repro.py` prints what is expected and what comes, and exits with 1 while the bug lives
(exit statuses in three fresh processes: {", ".join(map(str, entry.statuses))}).
The model is also `model.onnx`.

{block((place / REPRO).read_text(encoding="utf-8"), "python")}

## Expected behaviour

The output of ONNX's reference evaluator in float64, within float32's rounding; {entry.right[0]} \
gives it.

## Actual behaviour

{actual}

## Versions

{versions}
"""


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
