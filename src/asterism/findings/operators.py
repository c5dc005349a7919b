"""Findings in models of one ONNX operator: what a comparison of two libraries has shown.

A library is wrong where the other one and ONNX's reference evaluator agree. Of all models of an
operator that show it, the attributes that decide are those which, changed alone, make it vanish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json
from asterism.differential.adapters.backends import OF_ONNX, product_of
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.explaining import right_of
from asterism.differential.comparing.judging import run_subject
from asterism.differential.comparing.upgrade import Pair, change_of
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.compare import DIFFERENCES
from asterism.differential.oracle.finding import UNSUPPORTED
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.computed_references import onnx_reference
from asterism.differential.report.decisions import (
    FailureDecision,
    OutputDecision,
    comparing,
    failing,
)
from asterism.differential.report.file_scripts import write_file_script
from asterism.differential.report.numbers import Array, simple_inputs
from asterism.differential.report.onnx_text import onnx_text
from asterism.differential.report.program_text import Runner, onnx_program
from asterism.differential.report.script_writer import REPRO
from asterism.differential.subjects.onnx_file import Subject
from asterism.differential.subjects.operators import operator_subjects
from asterism.findings.entry import Entry, place_of
from asterism.findings.sightings import ORDINARY, Sighting, deciding

#: Changes that name a library which is wrong while another one and the reference agree.
_OF_NEW, _OF_OLD = ("now wrong", "no longer runs"), ("now right", "now runs")


def sightings_of(comparison: Path, old: str, new: str) -> list[Sighting[Subject]]:
    """What a comparison of two libraries on single operators has seen, unsupported left out.

    Args:
        comparison: the folder with ``changes.json``.
        old: the one library.
        new: the other.
    """
    subjects = {subject.name: subject for subject in operator_subjects()}
    changes = [
        change
        for change in read_json(comparison / "changes.json")["changes"]
        if change["kind"] in (*_OF_NEW, *_OF_OLD) and not change["said"].startswith(UNSUPPORTED)
    ]
    failing: dict[tuple[bool, bool], set[str]] = {}
    for change in changes:
        group = change["kind"] in _OF_NEW, change["inputs"] in ORDINARY
        failing.setdefault(group, set()).add(change["model"])
    found = []
    for change in changes:
        is_new = change["kind"] in _OF_NEW
        wrong = failing[is_new, change["inputs"] in ORDINARY]
        off = change["new"] or change["old"]
        symptom = off[0] if off is not None else change["said"].partition(":")[0]
        subject = subjects[change["model"]]
        run = change["option"], change["kind"], change["inputs"]
        fine = (other for name, other in subjects.items() if name not in wrong)
        culprit = new if is_new else old
        found.append(sighting_of(subject, run, culprit, symptom, fine))
    return found


def sighting_of(
    subject: Subject,
    run: tuple[str, str, str],
    culprit: str,
    symptom: str,
    fine: Iterable[Subject],
) -> Sighting[Subject]:
    """A sighting with the attributes that decide.

    A model with two causes has no attribute that decides alone: one that has such an attribute
    stands for it.

    Args:
        subject: the model.
        run: the way to run it, the kind of the change, and the kind of inputs.
        culprit: library to blame.
        symptom: what is wrong.
        fine: models that do not show it.
    """
    (option, kind, inputs), (operator, shapes) = run, _kind_of(subject)
    facts = attributes_of(subject)
    alike = (attributes_of(other) for other in fine if _kind_of(other) == (operator, shapes))
    needed = deciding(facts, alike)
    family, names = place_of(operator, needed, symptom)
    place = culprit, family, "wrong" if symptom in DIFFERENCES else "fails"
    rank = int(not needed), len(needed), len(facts)
    given = subject, option, culprit, symptom, operator, needed, inputs, place, rank
    return Sighting(*given, frozenset(names), kind)


def attributes_of(subject: Subject) -> dict[str, str]:
    """Attributes of a model's only node, and the shape of its constants, as text."""
    from onnx import helper

    (node,) = subject.model.graph.node
    return {a.name: str(_plain(helper.get_attribute_value(a))) for a in node.attribute}


def _kind_of(subject: Subject) -> tuple[str, list[tuple[int, ...]]]:
    """The operator of a model, and the shapes of its inputs."""
    return str(subject.model.graph.node[0].op_type), [spec.shape for spec in subject.inputs]


@dataclass(frozen=True)
class OperatorScripts:
    """Writes the scripts of operators' models.

    Args:
        pool: started workers of both libraries and of the references.
        pairs: ways to run a file in both, by their option.
        params: tolerances.
        seed: of the inputs that the comparison drew.
    """

    pool: WorkerPool
    pairs: Mapping[str, Pair]
    params: JudgeParams
    seed: int

    def __call__(self, sighting: Sighting[Subject], folder: Path) -> Entry | None:
        """The script on the simplest inputs that show it, or on those that were drawn."""
        subject, pair = sighting.subject, self.pairs[sighting.backend]
        shapes = [(spec.shape, spec.dtype) for spec in subject.inputs]
        for arrays in (*simple_inputs(sighting.inputs, shapes), None):
            drawn = subject.draw(self.seed, sighting.inputs)
            given = drawn if arrays is None else [array.values for array in arrays]
            inputs = {sighting.inputs: given}
            result = run_subject(self.pool, subject, inputs, (pair.old, pair.new))
            change = change_of(subject, result, pair, sighting.inputs, self.params)
            seen = change.kind, change.at_fault.symptom
            if seen == (sighting.details, sighting.symptom):
                part = Part(subject, given, change, result, 1, 1, finished=True)
                self._write(folder, part, arrays, sighting.signature)
                other = pair.old if change.culprit == pair.new else pair.new
                versions = installed_versions(product_of(sighting.library))
                right = other, OF_ONNX.right
                return sighting.entry("operator", [change.culprit], right, versions)
        return None

    def _write(
        self, place: Path, part: Part, inputs: Sequence[Array] | None, signature: str
    ) -> None:
        """The model as ONNX's text with the simple inputs; or its file, the arrays beside it."""
        change, content = part.change, part.subject.content
        right, finding = right_of(part, self.params), part.change.at_fault
        text = onnx_text(content) if inputs is not None else None
        if text is None or inputs is None:
            facts = signature, change.culprit, content, part.inputs, right, finding
            write_file_script(place / REPRO, *facts)
            return
        (place / "model.onnx").write_bytes(content)
        runner = Runner.of([change.culprit])
        program = onnx_program(runner, text, "", inputs)
        decision: OutputDecision | FailureDecision = failing(finding, "it runs")
        if right is not None:
            decision = comparing(right, onnx_reference(text, inputs, right))
        script = program.script(signature, runner.versions, decision)
        (place / REPRO).write_text(script, encoding="utf-8")


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
