"""The page that says what each library does with a user's models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from asterism.libraries.adapters.backends import library_of
from asterism.libraries.judging.params import JudgeParams
from asterism.report.base.document import write_document
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.report.base.templating import render_body, renderer
from asterism.versions.beside import DEEDS, Deed, Unresolved, Verdict
from asterism.versions.blaming import Part
from asterism.versions.going_on import NotCompared
from asterism.versions.model_files import ModelFile

_render = renderer("asterism.versions")


@dataclass(frozen=True)
class Shown:
    """A fault with the smallest part of the model that shows it.

    Args:
        subject: name of the model.
        deed: the fault.
        part: which nodes show it.
        folder: where its script lies, relative to the page.
        status: of the script: 1 where it shows the fault.
    """

    subject: str
    deed: Deed
    part: Part
    folder: str
    status: int


@dataclass
class Standing:
    """What all libraries did.

    Args:
        left_out: configurations that do not work here, and why.
        libraries: that ran the models, each with its version.
        subjects: the models, with what each configuration did.
        shown: faults with the parts that show them.
        rejected: models, libraries and nodes to blame that were left out, with the reason.
    """

    left_out: Mapping[str, str]
    libraries: Sequence[str]
    subjects: list[tuple[ModelFile, Verdict]] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    rejected: NotCompared = field(default_factory=list)

    @property
    def faults(self) -> list[tuple[str, Deed]]:
        """All that is a library's fault, with the model's name, the worst first."""
        order = list(DEEDS)
        every = [(s.name, deed) for s, verdict in self.subjects for deed in verdict.deeds]
        found = [(name, deed) for name, deed in every if deed.is_fault]
        return sorted(found, key=lambda f: (order.index(f[1].kind), f[0], -f[1].excess))

    @property
    def unresolved(self) -> list[Unresolved]:
        """All that nothing decides."""
        return [one for _, verdict in self.subjects for one in verdict.unresolved]

    @property
    def no_reference(self) -> dict[str, str]:
        """Models that no reference computes, by name, and why."""
        return {s.name: v.no_reference for s, v in self.subjects if v.no_reference}

    @property
    def beyond(self) -> dict[str, str]:
        """Models whose values their own type cannot hold, by name, and where."""
        every = ((s.name, deed) for s, verdict in self.subjects for deed in verdict.deeds)
        return {name: deed.said for name, deed in every if deed.kind == "beyond its type"}

    @property
    def invalid(self) -> dict[str, str]:
        """Models that are not to be run on these inputs, and the inputs' shapes."""
        found = {}
        for subject, verdict in self.subjects:
            kinds = {deed.kind for deed in verdict.deeds}
            if "invalid question" in kinds:
                shapes = (f"{s.label}={','.join(map(str, s.shape))}" for s in subject.inputs)
                found[subject.name] = " ".join(shapes)
        return found


def write_libraries_page(target: Path, found: Standing, params: JudgeParams) -> None:
    """Write the page.

    Args:
        target: an HTML file.
        found: what was seen.
        params: the oracle's tolerances.
    """
    models = _models(found)
    body, contents = render_body(
        _render,
        "libraries.html.j2",
        "libraries",
        libraries=found.libraries,
        ulps=f"{params.ulps:g}",
        conditioning=f"{params.conditioning:g}",
        faults=_rows(found),
        backends=list(dict.fromkeys(b for model in models for b in model["deeds"])),
        models=models,
        left_out=found.left_out,
        unresolved=found.unresolved,
        no_reference=found.no_reference,
        invalid=found.invalid,
        beyond=found.beyond,
        rejected=found.rejected,
        words=list(DEEDS.items()),
    )
    wrong = {name for name, _ in found.faults}
    section = ReportSection(
        anchor="libraries",
        title="Libraries side by side",
        question="Do these models compute the same in every library that reads their files?",
        headline=(
            KeyFigure(
                "models with a fault of a library",
                f"{len(wrong)} of {len(found.subjects)}",
                sources=("findings.json: faults, models",),
            ),
            KeyFigure(
                "models on which nothing decides",
                str(len({one.subject for one in found.unresolved})),
                sources=("findings.json: unresolved",),
            ),
            KeyFigure(
                "faults with a script that shows them",
                f"{sum(one.status == 1 for one in found.shown)} of {len(found.shown)}",
                sources=("findings.json: faults.status",),
            ),
        ),
        body=body,
        contents=contents,
        order=0,
    )
    write_document(target, [section], "")


def facts_of(found: Standing) -> dict[str, object]:
    """What was found, as a JSON value."""
    return {
        "libraries": list(found.libraries),
        "left_out": dict(found.left_out),
        "models": _models(found),
        "faults": _rows(found),
        "unresolved": [asdict(one) for one in found.unresolved],
        "no_reference": found.no_reference,
        "invalid": found.invalid,
        "beyond": found.beyond,
        "rejected": [list(pair) for pair in found.rejected],
    }


def _models(found: Standing) -> list[dict[str, Any]]:
    """Each model, with the worst that each configuration does with it."""
    order = list(DEEDS)
    rows = []
    for subject, verdict in found.subjects:
        worst: dict[str, str] = {}
        for deed in verdict.deeds:
            worst[deed.backend] = min(
                worst.get(deed.backend, deed.kind), deed.kind, key=order.index
            )
        rows.append({"name": subject.name, "nodes": len(subject.nodes), "deeds": worst})
    return rows


def _rows(found: Standing) -> list[dict[str, Any]]:
    """A row for each model, library and kind of fault."""
    groups: dict[tuple[str, str, str], list[Deed]] = {}
    for name, deed in found.faults:
        groups.setdefault((name, library_of(deed.backend), deed.kind), []).append(deed)
    rows = []
    for (name, library, kind), deeds in groups.items():
        shown = [one for one in found.shown if any(one.deed is deed for deed in deeds)]
        rows.append(
            {
                "model": name,
                "library": library,
                "kind": kind,
                "backends": list(dict.fromkeys(deed.backend for deed in deeds)),
                "inputs": list(dict.fromkeys(deed.distribution for deed in deeds)),
                "times": min(deeds[0].excess, 1e30),
                "said": deeds[0].said,
                "parts": [_part(one) for one in shown],
            }
        )
    return rows


def _part(one: Shown) -> dict[str, Any]:
    """What is told of a fault's smallest part."""
    return {
        "layers": one.part.layers,
        "of": one.part.nodes,
        "finished": one.part.finished,
        "script": f"{one.folder}/repro.py",
        "status": one.status,
    }
