"""Findings in models of one ONNX operator: what a comparison of two libraries has shown.

A library is wrong where the other one and ONNX's reference evaluator agree. Of all models of an
operator that show it, the attributes that decide are those which, changed alone, make it vanish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onnx import helper

from asterism.comparing.blaming import ModelPart
from asterism.comparing.cases import UpgradePair, judge_upgrade
from asterism.comparing.judging import run_subject
from asterism.core.files.artifacts import read_json
from asterism.differential.adapters.backend_names import OF_ONNX, product_of
from asterism.differential.adapters.environments import installed_versions
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import UNSUPPORTED
from asterism.differential.oracle.standard import DIFFERENCES
from asterism.differential.params import JudgeParams
from asterism.differential.report.numbers import simple_inputs
from asterism.differential.subjects.onnx_file import OnnxModelFile
from asterism.differential.subjects.operators import operator_subjects
from collection.entry import ORDINARY, CollectedFinding, place_of
from collection.occurrences import FindingOccurrence, deciding_facts

#: Changes that name a library which is wrong while another one and the reference agree.
_OF_NEW, _OF_OLD = ("now wrong", "no longer runs"), ("now right", "now runs")


def operator_occurrences(
    comparison: Path, old: str, new: str
) -> list[FindingOccurrence[OnnxModelFile]]:
    """What a comparison of two libraries on single operators has seen, unsupported left out.

    Args:
        comparison: the folder with ``changes.json``.
        old: the one library.
        new: the other.
    """
    subjects = {subject.name: subject for subject in operator_subjects()}
    seen = [
        (row, option, inputs)
        for row in read_json(comparison / "changes.json")["findings"]
        if row["kind"] in (*_OF_NEW, *_OF_OLD) and row["symptom"] != UNSUPPORTED
        for option, inputs in row["seen"]
    ]
    failing: dict[tuple[bool, bool], set[str]] = {}
    for row, _, inputs in seen:
        group = row["kind"] in _OF_NEW, inputs in ORDINARY
        failing.setdefault(group, set()).add(row["model"])
    found = []
    for row, option, inputs in seen:
        is_new = row["kind"] in _OF_NEW
        wrong = failing[is_new, inputs in ORDINARY]
        fine = (other for name, other in subjects.items() if name not in wrong)
        run = option, row["kind"], inputs
        culprit = new if is_new else old
        found.append(
            operator_occurrence(subjects[row["model"]], run, culprit, row["symptom"], fine)
        )
    return found


def operator_occurrence(
    subject: OnnxModelFile,
    run: tuple[str, str, str],
    culprit: str,
    symptom: str,
    fine: Iterable[OnnxModelFile],
) -> FindingOccurrence[OnnxModelFile]:
    """An occurrence with the attributes that decide.

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
    needed = deciding_facts(facts, alike)
    family, names = place_of(operator, needed, symptom)
    place = culprit, family, "wrong" if symptom in DIFFERENCES else "fails"
    rank = int(not needed), len(needed), len(facts)
    entry = CollectedFinding.seen(
        "operator", culprit, symptom, operator, needed, inputs, backend=option
    )
    return FindingOccurrence(subject, entry, place, rank, frozenset(names), kind)


def attributes_of(subject: OnnxModelFile) -> dict[str, str]:
    """Attributes of a model's only node, and the shape of its constants, as text."""
    (node,) = subject.model.graph.node
    return {a.name: str(_plain(helper.get_attribute_value(a))) for a in node.attribute}


def _kind_of(subject: OnnxModelFile) -> tuple[str, list[tuple[int, ...]]]:
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
    pairs: Mapping[str, UpgradePair]
    params: JudgeParams
    seed: int

    def __call__(
        self, occurrence: FindingOccurrence[OnnxModelFile], folder: Path
    ) -> CollectedFinding | None:
        """The script on the simplest inputs that show it, or on those that were drawn."""
        subject, entry = occurrence.subject, occurrence.entry
        pair = self.pairs[entry.backends[0]]
        shapes = [(spec.shape, spec.dtype) for spec in subject.inputs]
        for arrays in (*simple_inputs(entry.inputs, shapes), None):
            drawn = subject.draw(self.seed, entry.inputs)
            given = drawn if arrays is None else [array.values for array in arrays]
            inputs = {entry.inputs: given}
            result = run_subject(self.pool, subject, inputs, pair)
            change = judge_upgrade(subject, result, pair, entry.inputs, self.params)
            seen = change.kind, change.at_fault.symptom
            if seen == (occurrence.details, entry.symptom):
                part = ModelPart(subject, given, change, result, 1, finished=True)
                part.write_script(folder, entry.signature, self.params, arrays)
                other = pair.old if change.culprit == pair.new else pair.new
                versions = installed_versions(product_of(entry.library))
                right = other, OF_ONNX.right
                return replace(entry, backends=(change.culprit,), right=right, versions=versions)
        return None


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
