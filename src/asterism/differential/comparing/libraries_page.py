"""The page that says what each library does with a user's models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from asterism.differential.comparing.judging import Unresolved, Verdict
from asterism.differential.comparing.page import (
    Compared,
    Explained,
    of_change,
    write_comparison_page,
)
from asterism.differential.oracle.finding import BEYOND_TYPE, INVALID_INPUTS, STATUSES, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.model_files import ModelFile

_COLUMNS = ("model", "library", "fault", "configurations", "inputs", "times its bound")
#: What is said of models without a fault and without an open question.
_SOUND = ": every library that runs a model computes what the reference does"
#: What each status means on the page.
WORDS = {
    "crash": "its process dies of the model",
    "hang": "it does not end",
    "memory": "it takes all memory",
    "error": "it does not run the model, and another configuration or the reference does",
    "wrong shape, wrong dtype, NaN/Inf mask differs, values differ": "it is outside the bound of "
    "the reference, and another configuration is within; or, where no reference computes the "
    "model, it differs so from what most libraries agree on",
    "unresolved": "it is outside the bound, and so is every other; or, where no reference computes "
    "the model, the libraries differ and none of them is alone",
    "unchecked": "it runs the model; no reference and no other library does, so that nothing says "
    "whether it is right",
    "beyond its type": "the reference's own values exceed the largest number of the type that the "
    "file names, in which the library computes: what overflows there is the file's fault",
    "stated limit": "it warns that it does not compute what the model says",
    "special value handling": "it differs only in what follows from NaN, infinities or overflow "
    "where nothing decides what is right",
    "invalid inputs": "it fails on these inputs, and so do the reference and more libraries "
    "than run it: the sizes or the values of the inputs, or the file itself, are not possible",
    "nothing runs it": "it fails, no other library runs it, and the reference cannot",
    "unsupported": "it says that it does not run such a model",
    "right": "it is within the bound, or agrees with the others where there is no reference",
}


@dataclass
class Standing(Compared):
    """What all libraries did.

    Args:
        libraries: that ran the models, each with its version.
        subjects: the models, with what each configuration did.
    """

    libraries: Sequence[str]
    subjects: list[tuple[ModelFile, Verdict]] = field(default_factory=list)

    @property
    def faults(self) -> list[tuple[str, Finding]]:
        """All that is a library's fault, with the model's name, the worst first."""
        found = [(name, one) for name, one in self._findings if one.is_fault]
        return sorted(found, key=lambda f: (STATUSES.index(f[1].symptom), f[0], -f[1].excess))

    @property
    def _findings(self) -> list[tuple[str, Finding]]:
        return [(s.name, one) for s, verdict in self.subjects for one in verdict.findings]

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
        return {name: one.message for name, one in self._findings if one.symptom == BEYOND_TYPE}

    @property
    def invalid(self) -> dict[str, str]:
        """Models that are not to be run on these inputs, and the inputs' shapes."""
        found = {}
        for subject, verdict in self.subjects:
            if any(one.symptom == INVALID_INPUTS for one in verdict.findings):
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
    wrong = {name for name, _ in found.faults}
    confirmed = sum(one.confirmed for one in found.explained)
    doubts = found.unresolved or found.no_reference or found.invalid or found.beyond
    write_comparison_page(
        target,
        "libraries",
        "Libraries side by side",
        "Do these models compute the same in every library that reads their files?",
        {
            "models with a fault of a library": (
                f"{len(wrong)} of {len(found.subjects)}",
                "findings.json: faults, models",
            ),
            "models on which nothing decides": (
                len({one.subject for one in found.unresolved}),
                "findings.json: unresolved",
            ),
            "faults with a script that shows them": (
                f"{confirmed} of {len(found.explained)}",
                "findings.json: faults.status",
            ),
        },
        params,
        found=found,
        ran=f"{', '.join(found.libraries)}, in every configuration,",
        rows_anchor="faults",
        heading="Faults of libraries",
        rows_source="findings.json: faults",
        columns=_COLUMNS,
        rows=[_on_page(row, found) for row in _rows(found)],
        nothing=f"None{'' if doubts or found.rejected else _SOUND}.",
        models=models,
        models_source="findings.json: models",
        ways=list(dict.fromkeys(b for model in models for b in model["statuses"])),
        words=WORDS,
        packages=(),
    )


def _on_page(row: dict[str, Any], found: Standing) -> dict[str, Any]:
    """A row of faults as the page tells it."""
    cells = (
        *(row["model"], row["library"], row["kind"]),
        *(", ".join(row["backends"]), ", ".join(row["inputs"])),
        "–" if row["times"] >= 1e30 else f"{row['times']:.3g}",
    )
    scripts = {part["script"] for part in row["parts"]}
    explained = [one for one in found.explained if one.script in scripts]
    heading = f"{row['model']}, {row['library']}: {row['kind']}"
    facts = {"heading": heading, "told": "", "said": row["said"]}
    return {"cells": cells, "explained": explained, **facts}


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
    rows = []
    for subject, verdict in found.subjects:
        worst: dict[str, str] = {}
        for one in verdict.findings:
            kinds = (worst.get(one.backends[0], one.symptom), one.symptom)
            worst[one.backends[0]] = min(kinds, key=STATUSES.index)
        rows.append({"name": subject.name, "nodes": len(subject.nodes), "statuses": worst})
    return rows


def _rows(found: Standing) -> list[dict[str, Any]]:
    """A row for each model, library and kind of fault."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for name, one in found.faults:
        groups.setdefault((name, one.library, one.symptom), []).append(one)
    rows = []
    for (name, library, kind), faults in groups.items():
        shown = of_change(found.explained, faults)
        rows.append(
            {
                "model": name,
                "library": library,
                "kind": kind,
                "backends": list(dict.fromkeys(fault.backends[0] for fault in faults)),
                "inputs": list(dict.fromkeys(fault.distributions[0] for fault in faults)),
                "times": 1e30 if faults[0].fails else min(faults[0].excess, 1e30),
                "said": faults[0].said,
                "parts": [_part(one) for one in shown],
            }
        )
    return rows


def _part(one: Explained) -> dict[str, Any]:
    """What is told of a fault's smallest part."""
    return {
        "layers": one.part.layers,
        "of": one.part.nodes,
        "finished": one.part.finished,
        "script": one.script,
        "status": one.statuses[0][1],
    }
