"""Differences as a page in the report's style, and as a short table in a terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.drawing.svg import PALETTE
from asterism.core.messages.counting import counted
from asterism.report.document import write_document
from asterism.report.pictures import svg
from asterism.report.section import KeyFigure, ReportSection
from asterism.report.templating import render_body, renderer
from asterism.results.differences import CERTIFICATE, FINDINGS, Change, Differences, PlotChange
from asterism.results.runs import SHOWN, spoken

#: Fills in a template of ``results/templates``.
render = renderer("asterism.results")

#: Columns of a table that are drawn, and groups of rows that get lines of their own.
_PANELS, _GROUPS = 4, 5

#: Characters of a value in the terminal's table.
_WIDE = 16


def write_differences(target: Path, found: Differences) -> None:
    """Write the page: what changed in parameters, metrics, plots' data, findings and outputs."""
    counts = {
        change: sum(finding.change == change for finding in found.findings)
        for change in ("new", "gone")
    }
    metrics = f"{len(found.metrics)} of {len(found.metrics) + found.alike[1]}"
    headline = [
        KeyFigure("parameters differ", str(len(found.parameters)), sources=("params.yaml",)),
        KeyFigure("metrics differ", metrics, sources=("metrics/",)),
        KeyFigure("plots differ", str(len(found.plots)), sources=("plots/",)),
        KeyFigure("findings new", str(counts["new"]), sources=(FINDINGS,)),
        KeyFigure("findings gone", str(counts["gone"]), sources=(FINDINGS,)),
    ]
    if any(found.verdict):
        words = " → ".join(word or "–" for word in found.verdict)
        headline.append(KeyFigure("verdict", words, sources=(f"{CERTIFICATE}: verdict.word",)))
    body, contents = render_body(
        render,
        "diff.html.j2",
        "diff",
        found=found,
        first=found.metrics[:SHOWN],
        rest=found.metrics[SHOWN:],
        figures=[(plot, _drawn(plot, found)) for plot in found.plots],
        spoken=spoken,
        signed=_signed,
    )
    section = ReportSection(
        anchor="diff",
        title=f"{found.before} and {found.after}",
        question="What changed in the results?",
        headline=tuple(headline),
        body=body,
        order=0,
        contents=contents,
    )
    title = f"Asterism: {found.before} and {found.after}"
    write_document(target, [section], "", title)


def as_text(found: Differences) -> list[str]:
    """A short table: parameters, the metrics that tell most, plots and findings."""
    lines = [f"{'':44}{found.before[:_WIDE]:>{_WIDE}}  {found.after[:_WIDE]:>{_WIDE}}  change"]
    for title, changes in (("parameters", found.parameters), ("metrics", found.metrics[:SHOWN])):
        lines.append(f"{title}:{'' if changes else ' none differs'}")
        lines += [_line(change) for change in changes]
    if left := len(found.metrics) - SHOWN:
        lines += [f"  {left} more metrics differ"] if left > 0 else []
    for plot in found.plots:
        lines.append(f"plot: {plot.path}: {_told(plot)}")
    for finding in found.findings:
        if finding.change != "same":
            lines.append(f"{finding.change} finding: {finding.signature}")
    if any(found.verdict) and found.verdict[0] != found.verdict[1]:
        lines.append(f"verdict: {' → '.join(word or '–' for word in found.verdict)}")
    for name, paths in found.missing.items():
        lines.append(f"not in the cache of {name}: {', '.join(paths[:3])}; `asterism pull` fetches")
    return [*lines, f"{len(found.outputs)} outputs of stages differ"]


def _line(change: Change) -> str:
    name = change.name if len(change.name) <= 42 else f"…{change.name[-41:]}"
    values = f"{spoken(change.before):>{_WIDE}}  {spoken(change.after):>{_WIDE}}"
    return f"  {name:42}{values}  {_signed(change)}".rstrip()


def _signed(change: Change) -> str:
    """By how much a number has grown, with its sign, and in per cent."""
    by = change.difference
    if by is None:
        return ""
    share = f" ({100 * by / abs(change.before):+.1f}%)" if change.before else ""
    return f"{by:+.4g}{share}"


def _told(plot: PlotChange) -> str:
    if plot.before is None or plot.after is None:
        return "new" if plot.before is None else "gone"
    if len(plot.before) != len(plot.after):
        return f"{len(plot.before)} rows, now {len(plot.after)}"
    if not plot.columns:
        return "its texts or columns differ"
    name, by = max(plot.columns.items(), key=lambda item: item[1] or 0)
    return f"{counted(len(plot.columns), 'column')} changed, most {name} (by up to {by or 0:.4g})"


def _drawn(plot: PlotChange, found: Differences) -> Markup:
    """Curves before and after; nothing where the table holds no curves."""
    if plot.before is None or plot.after is None or not plot.columns:
        return Markup()
    groups = [n for n in plot.before.columns if not plot.before[n].dtype.is_numeric()]
    numbers = [n for n in plot.before.columns if n not in groups]
    x, drawn = numbers[0], [n for n in plot.columns if n != numbers[0]][:_PANELS]
    if not drawn or plot.before[x].n_unique() < 3 or any(n not in plot.after for n in groups):
        return Markup()
    figure = Figure(figsize=(max(6.5, 2.6 * len(drawn)), 2.8))
    panels = figure.subplots(1, len(drawn), squeeze=False).ravel()
    for axes, column in zip(panels, drawn, strict=True):
        for table, style, name in (
            (plot.before, "--", found.before),
            (plot.after, "-", found.after),
        ):
            for number, (key, rows) in enumerate(_groups(table, groups)):
                colour = PALETTE[number % len(PALETTE)]
                label = " ".join([*key, name])
                axes.plot(rows[x], rows[column], style, color=colour, label=label, linewidth=1)
        axes.set_title(column, fontsize="medium", loc="left")
        axes.set_xlabel(x)
    labels = panels[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    about = f"{', '.join(drawn)} against {x}: dashed {found.before}, solid {found.after}"
    named = ((found.before, plot.before), (found.after, plot.after))
    data = [table.select(pl.lit(name).alias("results of"), pl.all()) for name, table in named]
    name = plot.path.removesuffix(".csv").replace("/", "-")
    both = pl.concat(data, how="diagonal_relaxed")
    return svg(figure, about, name, both, source=f"{plot.path}: {', '.join(drawn)}")


def _groups(table: pl.DataFrame, names: list[str]) -> list[tuple[list[str], pl.DataFrame]]:
    if not names:
        return [([], table)]
    parts = table.partition_by(names, as_dict=True, maintain_order=True)
    return [([str(part) for part in key], rows) for key, rows in list(parts.items())[:_GROUPS]]
