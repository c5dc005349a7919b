"""The outcome of a sweep: a table, and curves of metric against parameter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.artifacts import replacing, write_table
from asterism.core.figures import PALETTE, write_svg
from asterism.report.pictures import svg
from asterism.report.section import Section
from asterism.report.templating import render
from asterism.sweep.points import split_overrides

#: Metrics that the page shows and draws of several points; ``table.csv`` holds all.
DRAWN = 24

#: Values of a parameter up to which each is a tick of its own.
TICKS = 8

_FACTS = ("status", "exit_code", "experiment", "stages_run", "seconds")


def make_table(records: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """A row for each point: number, parameters, status and metrics, by the columns' order."""
    rows = [split_overrides(record["overrides"]) for record in records]
    parameters = list(dict.fromkeys(name for row in rows for name in row))
    metrics = list(dict.fromkeys(name for r in records for name in r["metrics"]))
    columns: dict[str, list[Any]] = {"point": [record["number"] for record in records]}
    columns |= {name: _typed([row.get(name) for row in rows]) for name in parameters}
    columns |= {
        "status": [record["status"] for record in records],
        "exit_code": [record["exit_code"] for record in records],
        "experiment": [record["experiment"] for record in records],
        "stages_run": [len(record["ran"]) for record in records],
        "seconds": [record["total_seconds"] for record in records],
    }
    columns |= {name: [record["metrics"].get(name) for record in records] for name in metrics}
    return pl.DataFrame({name: pl.Series(name, v, strict=False) for name, v in columns.items()})


def _typed(column: list[str | None]) -> list[Any]:
    """A parameter's values as whole numbers or as numbers where all of them are such."""
    for kind in (int, float):
        try:
            return [None if value is None else kind(value) for value in column]
        except ValueError:
            continue
    return list(column)


def varying(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Parameters, and metrics, that differ between points; all metrics of a single point."""
    split = table.columns.index("status")
    differ = [name for name in table.columns if table[name].drop_nulls().n_unique() > 1]
    parameters = [name for name in table.columns[1:split] if name in differ]
    metrics = table.columns[split + len(_FACTS) :]
    return parameters, [name for name in metrics if name in differ or len(table) == 1]


def draw(table: pl.DataFrame, parameter: str, metrics: Sequence[str]) -> Figure:
    """Metrics against a parameter, a panel each; other parameters are lines of their own."""
    width = 3
    height = -(-len(metrics) // width)
    figure = Figure(figsize=(2.6 * width, 2.1 * height))
    panels = figure.subplots(height, width, squeeze=False).ravel()
    others = [name for name in varying(table)[0] if name != parameter]
    finished = table.filter(pl.col("status") == "finished").drop_nulls(parameter)
    numbers = finished[parameter].dtype.is_numeric()
    ticks = finished[parameter].unique().sort().to_list()
    for axes, metric in zip(panels, metrics, strict=False):
        for number, (label, line) in enumerate(_lines(finished, others)):
            shown = line.drop_nulls(metric).sort(parameter)
            x, y = shown[parameter].to_list(), shown[metric].to_list()
            style = "o-" if numbers else "o"  # there is nothing between two names
            axes.plot(x, y, style, label=label, color=PALETTE[number % len(PALETTE)], markersize=3)
        if numbers and len(ticks) <= TICKS:
            axes.set_xticks(ticks)
        axes.set_title(metric, fontsize=7)
        axes.set_xlabel(parameter, fontsize=7)
        axes.tick_params(labelsize=6)
    for axes in panels[len(metrics) :]:
        axes.remove()
    if others and len(finished):
        title = ", ".join(others)
        panels[0].legend(fontsize=5, title=title, title_fontsize=5, frameon=False)
    return figure


def _lines(table: pl.DataFrame, others: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    if not others:
        return [("", table)]
    groups = table.partition_by(others, as_dict=True, maintain_order=True)
    return [(", ".join(map(_spoken, key)), group) for key, group in groups.items()]


def _spoken(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_outcome(folder: Path, records: Sequence[dict[str, Any]], name: str) -> pl.DataFrame:
    """Write ``table.csv``, ``plots/*.svg`` and the page ``index.html`` of a sweep.

    Returns:
        The table.
    """
    table = make_table(records)
    write_table(folder / "table.csv", table)
    parameters, metrics = varying(table)
    figures = []
    for parameter in parameters if metrics else []:
        figure = draw(table, parameter, metrics[:DRAWN])
        write_svg(folder / "plots" / f"{parameter.replace('/', '-')}.svg", figure)
        figures.append((parameter, svg(figure, f"metrics against {parameter}")))
    section = _section(name, table, records, figures, metrics)
    page = render("page.html.j2", sections=[section], sweeps="../index.html")
    with replacing(folder / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return table


def _section(
    name: str,
    table: pl.DataFrame,
    records: Sequence[dict[str, Any]],
    figures: Sequence[tuple[str, Markup]],
    metrics: Sequence[str],
) -> Section:
    finished = int((table["status"] == "finished").sum())
    shown = table.columns[: table.columns.index("status") + len(_FACTS)]
    listed = metrics if len(table) == 1 else metrics[:DRAWN]
    body = render(
        "sweep.html.j2",
        columns=[*shown, *listed],
        rows=[
            (record["report"], [_spoken(value) for value in row])
            for record, row in zip(
                records, table.select([*shown, *listed]).iter_rows(), strict=True
            )
        ],
        failures=[r for r in records if r["status"] != "finished"],
        figures=figures,
        omitted=len(metrics) - len(listed),
    )
    return Section(
        anchor="sweep",
        title=f"Sweep {name}",
        question="How do the results depend on the parameters?",
        headline=(("points", str(len(table))), ("finished", str(finished))),
        body=body,
        order=0,
    )
