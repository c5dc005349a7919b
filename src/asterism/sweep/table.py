"""The outcome of a sweep: a table, curves, and the page of all sweeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.files.artifacts import write_table
from asterism.core.messages.escaping import pluralise
from asterism.core.svg import PALETTE, write_svg
from asterism.report.base.document import render_body, renderer, write_document
from asterism.report.base.pictures import svg
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.sweep.point import PointOutcome
from asterism.sweep.points import split_overrides

#: Metrics that the page shows of each point, and draws; ``table.csv`` holds all.
DRAWN = 24

#: Values of a parameter up to which each is a tick of its own.
TICKS = 8

_FACTS = ("status", "exit_code", "experiment", "stages_run", "seconds")

#: Fills in a template of ``sweep/templates``.
render = renderer("asterism.sweep")


def make_table(records: Sequence[PointOutcome]) -> pl.DataFrame:
    """A row for each point: number, parameters, status and metrics, by the columns' order."""
    rows = [_parameters_of(record) for record in records]
    parameters = list(dict.fromkeys(name for row in rows for name in row))
    metrics = list(dict.fromkeys(name for r in records for name in r.metrics))
    columns: dict[str, list[Any]] = {"point": [record.number for record in records]}
    columns |= {name: _typed([row.get(name) for row in rows]) for name in parameters}
    columns |= {
        "status": [record.status for record in records],
        "exit_code": [record.exit_code for record in records],
        "experiment": [record.experiment for record in records],
        "stages_run": [len(record.ran) for record in records],
        "seconds": [record.total_seconds for record in records],
    }
    columns |= {name: [record.metrics.get(name) for record in records] for name in metrics}
    return pl.DataFrame({name: pl.Series(name, v, strict=False) for name, v in columns.items()})


def _parameters_of(record: PointOutcome) -> dict[str, str]:
    """A point's parameters; one called as a column of its own has its ``+`` (``+experiment``)."""
    values = split_overrides(record.overrides)
    return {f"+{name}" if name in _FACTS else name: value for name, value in values.items()}


def _typed(column: list[str | None]) -> list[Any]:
    """A parameter's values as whole numbers or as numbers where all of them are such."""
    for kind in (int, float):
        try:
            return [None if value is None else kind(value) for value in column]
        except ValueError:
            continue
    return list(column)


def list_parameter_columns(table: pl.DataFrame) -> list[str]:
    """The parameters that the points were given."""
    return table.columns[1 : table.columns.index("status")]


def list_metric_columns(table: pl.DataFrame) -> list[str]:
    """The numbers that the points have measured."""
    return table.columns[table.columns.index("status") + len(_FACTS) :]


def list_varying_columns(table: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Those columns that differ between points."""
    return [name for name in names if table[name].drop_nulls().n_unique() > 1]


def shared_overrides(table: pl.DataFrame) -> list[str]:
    """The overrides that all points have in common, as ``seed=1``."""
    differ = list_varying_columns(table, list_parameter_columns(table))
    alike = [name for name in list_parameter_columns(table) if name not in differ]
    return [f"{name}={_spoken(table[name].drop_nulls().first())}" for name in alike]


def order_metrics(names: Sequence[str]) -> list[str]:
    """Metrics of all files in turn, of each those first that lie highest in it.

    These are a stage's results, and what lies deeper are their details. Without turns the results
    of one stage would keep those of all others from the page.
    """
    files = defaultdict(list)
    for name in sorted(names, key=lambda name: name.count(".")):
        files[name.partition(":")[0]].append(name)
    return [name for turn in zip_longest(*files.values()) for name in turn if name is not None]


def draw_metrics(table: pl.DataFrame, parameter: str, names: Sequence[str]) -> Figure:
    """Metrics against a parameter, a panel each; other parameters are lines of their own."""
    width = 3
    height = -(-len(names) // width)
    figure = Figure(figsize=(2.6 * width, 2.1 * height + 0.4))
    panels = figure.subplots(height, width, squeeze=False).ravel()
    others = [
        name
        for name in list_varying_columns(table, list_parameter_columns(table))
        if name != parameter
    ]
    finished = table.filter(pl.col("status") == "finished").drop_nulls(parameter)
    numbers = finished[parameter].dtype.is_numeric()
    ticks = finished[parameter].unique().sort().to_list()
    for axes, metric in zip(panels, names, strict=False):
        for number, (label, line) in enumerate(_lines(finished, others)):
            shown = line.drop_nulls(metric).sort(parameter)
            x, y = shown[parameter].to_list(), shown[metric].to_list()
            style = "o-" if numbers else "o"  # there is nothing between two names
            axes.plot(x, y, style, label=label, color=PALETTE[number % len(PALETTE)], markersize=3)
        if numbers and len(ticks) <= TICKS:
            axes.set_xticks(ticks)
        axes.set_title(_title(metric), fontsize="medium", loc="left")
    for axes in panels[len(names) :]:
        axes.remove()
    figure.supxlabel(parameter, fontsize="medium")
    if others and len(finished):
        labels = panels[0].get_legend_handles_labels()
        figure.legend(
            *labels,
            title=", ".join(others),
            loc="outside upper left",
            ncols=max(2, 6 - 2 * len(others)),
            frameon=False,
        )
    return figure


def _title(metric: str) -> str:
    """A metric's name in lines that are as short as a panel is narrow: its file, then its keys."""
    file, _, keys = metric.partition(":")
    return "\n".join([file, *wrap(keys.replace(".", ". "), 30)]).replace(". ", ".")


def _lines(table: pl.DataFrame, others: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    if not others:
        return [("", table)]
    groups = table.partition_by(others, as_dict=True, maintain_order=True)
    return [(", ".join(map(_spoken, key)), group) for key, group in groups.items()]


def _spoken(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_outcome(folder: Path, records: Sequence[PointOutcome], name: str) -> pl.DataFrame:
    """Write ``table.csv``, ``plots/*.svg`` and the page ``index.html`` of a sweep.

    Returns:
        The table.
    """
    table = make_table(records)
    write_table(folder / "table.csv", table)
    ranked = order_metrics(list_varying_columns(table, list_metric_columns(table)))
    figures = []
    for parameter in list_varying_columns(table, list_parameter_columns(table)) if ranked else []:
        figure = draw_metrics(table, parameter, sorted(ranked[:DRAWN]))
        write_svg(folder / "plots" / f"{parameter.replace('/', '-')}.svg", figure)
        data = table.select("point", *list_parameter_columns(table), *sorted(ranked[:DRAWN]))
        count = pluralise(len(ranked[:DRAWN]), "small chart")
        alt = f"{count}, one for each metric, against {parameter}."
        drawn = svg(figure, alt, f"by-{parameter}", data, f"metrics by {parameter}", "table.csv")
        figures.append((parameter, drawn))
    section = _section(name, table, records, figures, ranked)
    write_document(folder / "index.html", [section], "../index.html", f"Asterism: sweep {name}")
    return table


def _section(
    name: str,
    table: pl.DataFrame,
    records: Sequence[PointOutcome],
    figures: Sequence[tuple[str, Markup]],
    ranked: Sequence[str],
) -> ReportSection:
    finished = int((table["status"] == "finished").sum())
    alike = order_metrics([metric for metric in list_metric_columns(table) if metric not in ranked])
    listed = sorted((ranked or alike)[:DRAWN])
    columns = [
        "point",
        *list_varying_columns(table, list_parameter_columns(table)),
        *_FACTS,
        *listed,
    ]
    body, contents = render_body(
        render,
        "sweep.html.j2",
        "sweep",
        shared=shared_overrides(table),
        columns=columns,
        rows=[
            (record.report, [_spoken(value) for value in row])
            for record, row in zip(records, table.select(columns).iter_rows(), strict=True)
        ],
        failures=[r for r in records if r.status != "finished"],
        figures=figures,
        ranges=[
            (metric, _spoken(table[metric].min()), _spoken(table[metric].max()))
            for metric in [*ranked, *alike]
        ],
        differing=len(ranked),
    )
    return ReportSection(
        anchor="sweep",
        title=f"Sweep {name}",
        question="How do the results depend on the parameters?",
        headline=(
            KeyFigure("points", str(len(table)), sources=("table.csv: rows",)),
            KeyFigure("finished", str(finished), sources=("table.csv: status",)),
        ),
        body=body,
        order=0,
        contents=contents,
    )


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
                str(sum(sweep["points"] for sweep in sweeps)),
                sources=("sweeps/SWEEP/table.csv: rows",),
            ),
        ),
        body=body,
        order=0,
    )
    write_document(folder / "index.html", [section], "", "Asterism: sweeps")


def _outcome(path: Path) -> dict[str, Any]:
    """A sweep's row: its name, what it varied, what not, its points, and how many finished."""
    table = pl.read_csv(path, infer_schema=False)
    return {
        "name": path.parent.name,
        "varied": list_varying_columns(table, list_parameter_columns(table)),
        "shared": shared_overrides(table),
        "points": len(table),
        "finished": int((table["status"] == "finished").sum()),
    }
