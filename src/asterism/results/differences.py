"""What changed in results from one state of a project to another."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from asterism.core.messages.errors import reading
from asterism.results.revision import Revision
from asterism.results.runs import differing
from asterism.sweep.table import most_telling_first

#: Where unique findings of the libraries' lane are, and the certificate of a vetted pair.
FINDINGS = "artifacts/triage_findings/unique.json"
CERTIFICATE = "report/vet/certificate.json"


@dataclass(frozen=True)
class Change:
    """A parameter or a metric that differs.

    Attributes:
        name: of the parameter, or ``file:path.of.keys`` of the metric.
        before: its value; None where there is none.
        after: the same.
    """

    name: str
    before: Any
    after: Any

    @property
    def difference(self) -> float | None:
        """By how much a number has grown; None where one of the two is no number."""
        values = (self.before, self.after)
        if any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
            return None
        return float(self.after - self.before)


@dataclass(frozen=True)
class PlotChange:
    """The data of a plot that differ.

    Attributes:
        path: of the table.
        before: the table; None where it is not there.
        after: the same.
        columns: numeric columns whose values differ, with the largest difference between rows;
            None where the tables have different rows.
    """

    path: str
    before: pl.DataFrame | None
    after: pl.DataFrame | None
    columns: dict[str, float | None]


@dataclass(frozen=True)
class Finding:
    """A unique finding of the libraries' lane.

    Attributes:
        signature: by which another run's finding is the same one.
        library: to blame.
        symptom: what is wrong.
        change: ``new``, ``gone`` or ``same``.
    """

    signature: str
    library: str
    symptom: str
    change: str


@dataclass(frozen=True)
class Differences:
    """All that changed.

    Attributes:
        before: name of the first state.
        after: name of the second.
        parameters: those that differ.
        metrics: those that differ, those first that tell most.
        alike: how many parameters and metrics are the same.
        plots: tables that differ.
        findings: all of both states.
        verdict: of a vetted pair, before and after; None where there is none.
        outputs: outputs of stages whose content differs, with ``changed``, ``new`` or ``gone``.
        missing: results that are not in the cache, by the state's name.
    """

    before: str
    after: str
    parameters: list[Change]
    metrics: list[Change]
    alike: tuple[int, int]
    plots: list[PlotChange]
    findings: list[Finding]
    verdict: tuple[str | None, str | None]
    outputs: dict[str, str]
    missing: dict[str, list[str]]


def find_differences(before: Revision, after: Revision) -> Differences:
    """Compare all results of two states, as far as they are here.

    Raises:
        UserError: a result cannot be read.
    """
    parameters, same_parameters = differing([before.parameters, after.parameters])
    metrics, same_metrics = differing([before.metrics, after.metrics])
    return Differences(
        before.name,
        after.name,
        [Change(name, *values) for name, values in parameters.items()],
        [Change(name, *metrics[name]) for name in most_telling_first(list(metrics))],
        (same_parameters, same_metrics),
        list(_plots(before, after)),
        _findings(before, after),
        (_verdict(before), _verdict(after)),
        _outputs(before, after),
        {r.name: r.missing() for r in (before, after) if r.missing()},
    )


def _plots(before: Revision, after: Revision) -> Iterator[PlotChange]:
    paths = {p for r in (before, after) for p in r.files.below("plots") if p.endswith(".csv")}
    for path in sorted(paths):
        old, new = before.files.result(path), after.files.result(path)
        if old == new:
            continue
        first, second = _table(old, before, path), _table(new, after, path)
        yield PlotChange(path, first, second, _changed_columns(first, second))


def _table(content: bytes | None, revision: Revision, path: str) -> pl.DataFrame | None:
    if content is None:
        return None
    with reading(f"{path} of {revision.name}"):
        return pl.read_csv(io.BytesIO(content), infer_schema_length=None)


def _changed_columns(
    first: pl.DataFrame | None, second: pl.DataFrame | None
) -> dict[str, float | None]:
    if first is None or second is None:
        return {}
    changed: dict[str, float | None] = {}
    for name in first.columns:
        if name not in second.columns or not first[name].dtype.is_numeric():
            continue
        if len(first) != len(second) or not second[name].dtype.is_numeric():
            changed[name] = None
        elif (largest := _largest(first[name], second[name])) > 0:
            changed[name] = largest
    return changed


def _largest(first: pl.Series, second: pl.Series) -> float:
    """The largest absolute difference of two columns, row by row; empty cells are left out."""
    found = (first.cast(pl.Float64) - second.cast(pl.Float64)).abs().max()
    return float(found) if isinstance(found, (int, float)) else 0.0


def _findings(before: Revision, after: Revision) -> list[Finding]:
    old, new = _unique(before), _unique(after)
    found = []
    for signature, (library, symptom) in sorted((old | new).items()):
        change = "same" if signature in old and signature in new else ""
        change = change or ("new" if signature in new else "gone")
        found.append(Finding(signature, library, symptom, change))
    return sorted(found, key=lambda one: ("new", "gone", "same").index(one.change))


def _unique(revision: Revision) -> dict[str, tuple[str, str]]:
    """Library and symptom of each finding by its signature."""
    with reading(f"{FINDINGS} of {revision.name}"):
        listed = revision.json(FINDINGS) or []
        return {
            str(item["signature"]): (
                str(item["finding"]["library"]),
                str(item["finding"]["symptom"]),
            )
            for item in listed
        }


def _verdict(revision: Revision) -> str | None:
    with reading(f"{CERTIFICATE} of {revision.name}"):
        document = revision.json(CERTIFICATE)
        return None if document is None else str(document["verdict"]["word"])


def _outputs(before: Revision, after: Revision) -> dict[str, str]:
    old, new = before.files.digests(), after.files.digests()
    changed = {path for path in old.keys() & new.keys() if old[path] != new[path]}
    words = dict.fromkeys(changed, "changed")
    words |= dict.fromkeys(new.keys() - old.keys(), "new")
    words |= dict.fromkeys(old.keys() - new.keys(), "gone")
    return dict(sorted(words.items()))


def as_json(found: Differences) -> dict[str, Any]:
    """What a program reads."""
    return {
        "before": found.before,
        "after": found.after,
        "parameters": [asdict(change) for change in found.parameters],
        "metrics": [asdict(c) | {"difference": c.difference} for c in found.metrics],
        "alike": dict(zip(("parameters", "metrics"), found.alike, strict=True)),
        "plots": {plot.path: plot.columns for plot in found.plots},
        "findings": [asdict(finding) for finding in found.findings],
        "verdict": list(found.verdict),
        "outputs": found.outputs,
        "missing": found.missing,
    }
