"""The page of all sweeps of a project, which the report links to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from asterism.report.base.document import write_document
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.report.base.templating import render_body
from asterism.sweep.table import parameters, shared, varying
from asterism.sweep.templating import render


@dataclass(frozen=True)
class _Outcome:
    """A sweep in a row: its name, what it varied, what not, its points, and how many finished."""

    name: str
    varied: list[str]
    shared: list[str]
    points: int
    finished: int


def write_overview(folder: Path) -> None:
    """Write ``index.html`` into the folder of all sweeps, the latest one first.

    Args:
        folder: each sweep that has ended has a folder with its ``table.csv`` here.
    """
    tables = sorted(folder.glob("*/table.csv"), key=lambda path: -path.stat().st_mtime_ns)
    sweeps = [_outcome(path) for path in tables]
    body, _ = render_body(render, "sweeps.html.j2", "sweeps", sweeps=sweeps)
    section = ReportSection(
        anchor="sweeps",
        title="Sweeps",
        question="Which parameters have been varied here?",
        headline=(
            KeyFigure("sweeps", str(len(sweeps)), sources=("sweeps/",)),
            KeyFigure(
                "points",
                str(sum(sweep.points for sweep in sweeps)),
                sources=("sweeps/SWEEP/table.csv: rows",),
            ),
        ),
        body=body,
        order=0,
    )
    write_document(folder / "index.html", [section], "", "Asterism: sweeps")


def _outcome(path: Path) -> _Outcome:
    table = pl.read_csv(path, infer_schema=False)
    finished = int((table["status"] == "finished").sum())
    varied = varying(table, parameters(table))
    return _Outcome(path.parent.name, varied, shared(table), len(table), finished)
