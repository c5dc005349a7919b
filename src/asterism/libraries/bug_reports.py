"""Writing a folder for each unique finding: ``repro.py``, ``report.md`` and the minimal model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from asterism.core.artifacts import write_json
from asterism.core.errors import UserError
from asterism.libraries.bench import PERTURBED, REFERENCES, Bench, Task
from asterism.libraries.compare import spread_of
from asterism.libraries.inputs import draw_inputs
from asterism.libraries.oracle import tolerance_of
from asterism.libraries.params import JudgeParams
from asterism.libraries.reproducer import confirm, script_of, tolerated
from asterism.libraries.triage import UniqueFinding
from asterism.memo.params import NO_FILE
from asterism.memo.weights import Stored


@dataclass(frozen=True)
class Report:
    """What was written about one unique finding."""

    folder: str
    signature: str
    confirmed: tuple[int, ...]
    known: str

    @property
    def reproduced(self) -> bool:
        """Whether every fresh process showed it (a crash ends with a signal's status)."""
        return all(status not in (0, 124) for status in self.confirmed)

    def to_json(self, found: UniqueFinding) -> dict[str, Any]:
        """What the list of unique findings says about this one."""
        return {
            "folder": self.folder,
            "signature": self.signature,
            "confirmed": list(self.confirmed),
            "known": self.known,
            "layer": found.layer,
            "models": found.models,
            "layers": len(found.graph.layers),
            "original_layers": found.original_layers,
            "ablation": found.ablation,
            "finding": found.finding.to_json(),
            "graph": found.graph.to_json(),
        }


def write_report(
    found: UniqueFinding,
    bench: Bench,
    judging: JudgeParams,
    seed: int,
    stored: Stored,
    target: Path,
    known_issues: dict[str, str],
) -> Report:
    """Write the folder of one finding below ``target`` and confirm its reproducer three times."""
    name = folder_name(found)
    folder = target / name
    folder.mkdir(parents=True, exist_ok=True)
    text = _script(found, bench, judging, seed, stored)
    script = folder / "repro.py"
    script.write_text(text, encoding="utf-8")
    confirmed = tuple(confirm(script))
    known = next((link for part, link in known_issues.items() if part in found.signature), "")
    report = Report(name, found.signature, confirmed, known)
    (folder / "report.md").write_text(
        _markdown(found, report, bench.versions, text), encoding="utf-8"
    )
    write_json(folder / "model.json", found.graph.to_json())
    return report


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def read_known_issues(name: str) -> dict[str, str]:
    """Links by a part of the signature, from a YAML file; none for the placeholder.

    Raises:
        UserError: the file is missing or is no mapping of strings.
    """
    try:
        if name == NO_FILE:
            return {}
        path = Path(name)
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"cannot read the known issues {name}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{name} must map parts of signatures to links")
    return {str(k): str(v) for k, v in document.items()}


def _script(
    found: UniqueFinding, bench: Bench, judging: JudgeParams, seed: int, stored: Stored
) -> str:
    graph, finding = found.graph, found.finding
    draw = finding.draws[0] if finding.draws else "normal"
    inputs = draw_inputs(graph, seed, finding.model, draw)
    expected: Sequence[Any] = []
    tolerances: Sequence[float] = []
    if finding.by_values:
        routes = (*REFERENCES, PERTURBED)
        result = bench.run(Task(finding.model, graph, {draw: inputs}, routes=routes))
        reference = next(result.outputs[r] for r in reversed(REFERENCES) if r in result.outputs)
        moved = result.outputs.get(PERTURBED, {}).get(draw)
        expected = reference[draw]
        tolerances = tolerated(expected, tolerance_of(graph, judging), spread_of(expected, moved))
    return script_of(found, stored, bench.variables(graph), inputs, expected, tolerances)


def _markdown(found: UniqueFinding, report: Report, versions: dict[str, str], script: str) -> str:
    """In the shape that the libraries' bug templates ask for."""
    finding = found.finding
    expected = (
        "The output of a float64 run, within float32's rounding; "
        f"{', '.join(finding.witnesses[:3])} give it."
        if finding.by_values
        else f"The model runs, as it does in {', '.join(finding.witnesses[:3]) or 'no library'}."
    )
    actual = (
        f"{finding.symptom}: {finding.excess:.3g} times the tolerance; D_MAD {finding.d_mad:.3g}."
        if finding.by_values
        else f"`{finding.exception}`: {finding.message}"
    )
    statuses = ", ".join(map(str, report.confirmed))
    ablation = "\n".join(f"| {what} | {answer} |" for what, answer in found.ablation.items())
    known = f"\nKnown: {report.known}\n" if report.known else ""
    packages = "\n".join(f"- {name} {version}" for name, version in versions.items())
    return f"""# {finding.library}: {finding.symptom} ({found.layer or finding.exception})
{known}
## Description

{found.signature}

Minimal model of {len(found.graph.layers)} layer(s), shrunk from {found.original_layers}; \
{len(found.models)} generated model(s) showed it. Routes: {", ".join(finding.routes)}.

## Steps to reproduce

`python repro.py` (exit statuses in three fresh processes: {statuses}).

```python
{script}```

## Expected behaviour

{expected}

## Actual behaviour

{actual}

## What was varied

| varied | result |
|---|---|
{ablation}

## Versions

{packages}
"""
