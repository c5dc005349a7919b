"""The page that says what an upgrade changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asterism.differential.adapters.backends import OF_ONNX
from asterism.differential.comparing.comparing import CHANGES, WORSE, Change
from asterism.differential.comparing.judging import Unresolved
from asterism.differential.comparing.page import Compared, of_change, write_comparison_page
from asterism.differential.oracle.finding import RIGHT, UNCHECKED, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.model_files import ModelFile

_COLUMNS = (
    *("model", "run as", "inputs", "change", "old: times its bound", "new: times its bound"),
    "largest difference",
)


@dataclass
class Comparison(Compared):
    """What two versions did.

    Args:
        old: name of the version that is left.
        new: name of the version that is taken.
        versions: of the packages in each.
        subjects: the models, with the changes of each.
        no_reference: models that no reference computes, by name, and why.
    """

    old: str
    new: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    subjects: list[tuple[ModelFile, list[Change]]] = field(default_factory=list)
    no_reference: dict[str, str] = field(default_factory=dict)
    unresolved: Sequence[Unresolved] = ()
    beyond: Mapping[str, str] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)

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
    counts = {kind: _count(found, kind) for kind in CHANGES}
    write_comparison_page(
        target,
        "versions",
        f"{found.old} beside {found.new}",
        "Does the upgrade change what these models compute?",
        {
            "models that change": (
                f"{len(changed)} of {len(found.subjects)}",
                "changes.json: changes, models",
            ),
            "models that were not compared": (len(found.rejected), "changes.json: rejected"),
            **{k: (count, "changes.json: compared.kinds") for k, count in counts.items() if count},
        },
        params,
        found=found,
        ran=f"{found.old} and {found.new}",
        rows_anchor="changes",
        heading="What changes",
        rows_source="changes.json: changes",
        columns=_COLUMNS,
        rows=_rows(found),
        nothing="Nothing: no model computes something else, and none runs in one version alone.",
        models=[{**model, "statuses": model["kinds"]} for model in models],
        models_source="changes.json: compared",
        ways=sorted({option for model in models for option in model["kinds"]}),
        words=CHANGES,
        packages=_packages(*found.versions),
    )


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
    rows = []
    for group in groups.values():
        explained = of_change(found.explained, group)
        change = explained[0].change if explained else group[0]
        fails = change.old.fails or change.new.fails
        cells = (
            change.subject,
            ", ".join(dict.fromkeys(c.pair.option for c in group)),
            ", ".join(dict.fromkeys(c.distribution for c in group)),
            change.kind,
            _times(change.old, change),
            _times(change.new, change),
            "–" if fails else f"{change.apart:.3g}",
        )
        told = ""
        if change.answers:
            gave = zip((found.old, found.new), change.answers, strict=True)
            words = ", and ".join(f"{version} gave {answer}" for version, answer in gave)
            told = f"Where they are furthest apart, {words}."
        heading = f"{change.subject}, {change.pair.option}: {change.kind}"
        facts = {"heading": heading, "told": told, "said": change.said}
        rows.append({"cells": cells, "explained": explained[:1], **facts})
    return rows


def _times(finding: Finding, change: Change) -> str:
    if finding.fails:
        return "does not run"
    if finding.symptom in (RIGHT, UNCHECKED):
        return "within" if change.referee == OF_ONNX.right else "no reference"
    return f"{finding.excess:.3g}" if finding.symptom == "values differ" else finding.symptom


def _packages(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    names = sorted({*old, *new})
    return [(name, old.get(name, "–"), new.get(name, "–")) for name in names]
