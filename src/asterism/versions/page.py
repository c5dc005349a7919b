"""The page that says what an upgrade changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asterism.libraries.adapters.backends import OF_ONNX
from asterism.libraries.judging.finding import RIGHT, UNCHECKED, Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.report.base.document import write_document
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.report.base.templating import render_body, renderer
from asterism.versions.blaming import Part
from asterism.versions.comparing import CHANGES, WORSE, Change
from asterism.versions.going_on import NotCompared
from asterism.versions.model_files import ModelFile

_render = renderer("asterism.versions")


@dataclass(frozen=True)
class Explained:
    """A change with the smallest part that shows it.

    Args:
        change: of the whole model.
        part: which nodes show it.
        folder: where its script lies, relative to the page.
        statuses: of the script, in the old and in the new version.
    """

    change: Change
    part: Part
    folder: str
    statuses: tuple[int, int]

    @property
    def confirmed(self) -> bool:
        """Whether the script shows the bug in the version to blame."""
        culprit = self.statuses[self.change.culprit == self.change.pair.new]
        return culprit == 1


@dataclass
class Comparison:
    """What two versions did.

    Args:
        old: name of the version that is left.
        new: name of the version that is taken.
        versions: of the packages in each.
        subjects: the models, with the changes of each.
        explained: changes with the parts that show them.
        rejected: models, ways to run them and nodes to blame that were left out, with the reason.
        no_reference: models that no reference computes, by name, and why.
    """

    old: str
    new: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    subjects: list[tuple[ModelFile, list[Change]]] = field(default_factory=list)
    explained: list[Explained] = field(default_factory=list)
    rejected: NotCompared = field(default_factory=list)
    no_reference: dict[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> list[Change]:
        """All that is a change, the worst kind first."""
        order = list(CHANGES)
        found = [c for _, changes in self.subjects for c in changes if c.is_change]
        return sorted(found, key=lambda c: (order.index(c.kind), c.subject, c.pair.option))

    @property
    def is_worse(self) -> bool:
        """Whether an upgrade should wait: a change for the worse, or a model left out."""
        names = {path for path, _ in self.rejected} - {s.name for s, _ in self.subjects}
        return any(c.kind in WORSE for c in self.changes) or bool(names)

    def worst(self, subject: ModelFile, option: str) -> str:
        """What the upgrade does at worst to a model in one way to run it."""
        order = list(CHANGES)
        kinds = [
            change.kind
            for other, changes in self.subjects
            for change in changes
            if other is subject and change.pair.option == option
        ]
        return min(kinds, key=order.index, default="–")


def write_versions_page(target: Path, found: Comparison, params: JudgeParams) -> None:
    """Write the page.

    Args:
        target: an HTML file.
        found: what was compared.
        params: the oracle's tolerances.
    """
    changed = {c.subject for c in found.changes}
    models = models_of(found)
    body, contents = render_body(
        _render,
        "versions.html.j2",
        "versions",
        old=found.old,
        new=found.new,
        ulps=f"{params.ulps:g}",
        conditioning=f"{params.conditioning:g}",
        changes=_rows(found),
        options=sorted({option for model in models for option in model["kinds"]}),
        models=models,
        rejected=found.rejected,
        no_reference=found.no_reference,
        words=list(CHANGES.items()),
        packages=_packages(*found.versions),
    )
    section = ReportSection(
        anchor="versions",
        title=f"{found.old} beside {found.new}",
        question="Does the upgrade change what these models compute?",
        headline=(
            KeyFigure(
                "models that change",
                f"{len(changed)} of {len(found.subjects)}",
                sources=("changes.json: changes, models",),
            ),
            KeyFigure(
                "models that were not compared",
                str(len(found.rejected)),
                sources=("changes.json: rejected",),
            ),
            *(
                KeyFigure(kind, str(_count(found, kind)), sources=("changes.json: compared.kinds",))
                for kind in CHANGES
                if _count(found, kind)
            ),
        ),
        body=body,
        contents=contents,
        order=0,
    )
    write_document(target, [section], "")


def models_of(found: Comparison) -> list[dict[str, Any]]:
    """Each model that was compared, with its worst change in each way to run it."""
    options = sorted({c.pair.option for _, changes in found.subjects for c in changes})
    return [
        {
            "name": subject.name,
            "nodes": len(subject.nodes),
            "kinds": {option: found.worst(subject, option) for option in options},
        }
        for subject, _ in found.subjects
    ]


def _count(found: Comparison, kind: str) -> int:
    """Models whose worst change in any way to run them is of that kind."""
    order = list(CHANGES)
    worst = [min((c.kind for c in cs), key=order.index, default="") for _, cs in found.subjects]
    return worst.count(kind)


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """A row for each model and kind of change, by the change that has a script where one has."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in found.changes:
        groups.setdefault((change.kind, change.subject), []).append(change)
    with_scripts = [one.change for one in found.explained]
    rows = []
    for group in groups.values():
        shown = [c for c in group if any(c is other for other in with_scripts)] or group[:1]
        row = _row(shown[0], found.explained)
        row["option"] = ", ".join(dict.fromkeys(c.pair.option for c in group))
        row["inputs"] = ", ".join(dict.fromkeys(c.distribution for c in group))
        rows.append(row)
    return rows


def _row(change: Change, explained: Sequence[Explained]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "model": change.subject,
        "option": change.pair.option,
        "inputs": change.distribution,
        "kind": change.kind,
        "old": _times(change.old, change),
        "new": _times(change.new, change),
        "answers": change.answers,
        "apart": "–" if change.old.fails or change.new.fails else f"{change.apart:.3g}",
        "layers": "",
        "script": "",
        "said": change.said,
    }
    for one in explained:
        if one.change is change:
            part = one.part
            size = len(part.layers)
            row |= {
                "layers": ", ".join(part.layers[:3])
                + (f" and {size - 3} more" if size > 3 else ""),
                "script": f"{one.folder}/repro.py",
                "statuses": one.statuses,
                "confirmed": one.confirmed,
                "blame": (
                    f"{size} of {part.nodes} nodes show it by themselves"
                    f"{'' if part.finished else ' (not the fewest: the steps were used up)'}, "
                    f"on what reaches them in the model."
                ),
            }
    return row


def _times(finding: Finding, change: Change) -> str:
    if finding.fails:
        return "does not run"
    if finding.symptom in (RIGHT, UNCHECKED):
        return "within" if change.referee == OF_ONNX.right else "no reference"
    return f"{finding.excess:.3g}" if finding.symptom == "values differ" else finding.symptom


def _packages(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    names = sorted({*old, *new})
    return [(name, old.get(name, "–"), new.get(name, "–")) for name in names]
