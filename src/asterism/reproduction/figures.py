"""Pictures of the comparison: bars of the papers' tables, and figures like the papers' own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from asterism.core.parameters.params import ParameterSection
from asterism.core.svg import PALETTE
from asterism.reproduction.claims import Claim, Paper, PaperTable, judge_claim, read_files
from asterism.reproduction.records import BINS, Quantity, RecordedPoint, RecordedRun, estimate
from asterism.reproduction.rules import Outcome
from asterism.reproduction.tables import FilledRow

#: Where the pictures lie in the project.
FOLDER = Path("docs/images/reproduction")


@dataclass(frozen=True)
class Plot:
    """A picture of the page.

    Attributes:
        name: of its file, without suffix.
        title: what it shows.
        paper: whose numbers.
        figure: the picture.
        note: what is to be known of it.
    """

    name: str
    title: str
    paper: str
    figure: Figure
    note: str = ""


def draw_tables(tables: Sequence[tuple[PaperTable, Sequence[FilledRow]]]) -> list[Plot]:
    """For each table that has runs, and names columns to draw, their bars."""
    plots = []
    for table, rows in tables:
        places = [place for place, column in enumerate(table.columns) if column.drawn]
        answered = [row for row in rows if any(row.cells[place].here for place in places)]
        if answered:
            name = Path(table.file).stem
            plots.append(Plot(name, table.title, table.paper, _bars(table, places, answered)))
    return plots


def draw_relations(
    claims: Mapping[str, Sequence[Claim]], runs: Mapping[str, RecordedRun]
) -> list[Plot]:
    """For each claim that one number falls with another, and that was judged, a scatter plot."""
    plots = []
    for paper, own in claims.items():
        for claim in own:
            if claim.rule != "falls_with":
                continue
            if judge_claim(claim, runs).outcome != Outcome.NOT_COMPARABLE:
                title = f"{claim.source}: {claim.text}"
                plots.append(Plot(claim.id, title, paper, _scatter(claim, runs)))
    return plots


def _scatter(claim: Claim, runs: Mapping[str, RecordedRun]) -> Figure:
    figure = Figure(figsize=(4.4, 2.8))
    axes = figure.subplots()
    for number, (quantity, other) in enumerate(zip(claim.runs, claim.compared, strict=True)):
        x, y = other.sample(runs), quantity.sample(runs)
        axes.scatter(x, y, s=14, color=PALETTE[number], label=quantity.experiment)
        axes.set_xlabel(other.words, fontsize="medium")
        axes.set_ylabel(quantity.words, fontsize="medium")
    axes.set_ylim(bottom=0)
    return figure


def _bars(table: PaperTable, places: Sequence[int], rows: Sequence[FilledRow]) -> Figure:
    """A panel for each column, in it two bars for each row."""
    figure = Figure(figsize=(3.4 * len(places), 1.0 + 0.5 * len(rows)))
    panels = figure.subplots(1, len(places), squeeze=False, sharey=True)[0]
    for axes, place in zip(panels, places, strict=True):
        for number, row in enumerate(rows):
            cell = row.cells[place]
            first = number == 0
            axes.barh(
                number - 0.2,
                cell.paper or 0,
                0.38,
                color=PALETTE[8],
                label="the paper" if first else None,
            )
            if cell.here is not None:
                axes.barh(
                    number + 0.2,
                    cell.here.mean,
                    0.38,
                    xerr=cell.here.high - cell.here.mean,
                    color=PALETTE[0],
                    label="here, with 95% interval" if first else None,
                )
        values = [c for row in rows for c in _values(row, place)]
        if min(values) > 0 and max(values) > 50 * min(values):
            axes.set_xscale("log")
        axes.set_title(table.columns[place].title, fontsize="medium", loc="left")
    panels[0].set_yticks(range(len(rows)), [", ".join(row.keys[-2:]) for row in rows])
    panels[0].invert_yaxis()
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper left", ncols=2, frameon=False)
    return figure


def _values(row: FilledRow, place: int) -> list[float]:
    cell = row.cells[place]
    here = [] if cell.here is None else [cell.here.mean]
    return here if cell.paper is None else [cell.paper, *here]


#: Where figures lie in the project.
FIGURES = Path("results/figures")


class DrawnSeries(ParameterSection):
    """What is drawn of an experiment, in one colour."""

    experiment: str
    label: str = Field(description="what the legend calls it")
    series: str | None = Field(
        default=None, description="for histograms and curves: a series of the experiment's points"
    )
    value: str | None = Field(default=None, description="for bars: a metric")
    parameter: str | None = Field(
        default=None, description="for bars: the parameter whose values they stand over"
    )
    where: dict[str, str] = Field(default={}, description="parameters that the points must have")


class PaperFigure(ParameterSection):
    """A figure of a paper, and the recorded numbers that are drawn like it."""

    title: str
    paper: Paper
    kind: Literal["histogram", "curves", "bars"]
    across: str = Field(description="what stands at the horizontal axis")
    up: str = Field(description="what stands at the vertical axis")
    drawn: list[DrawnSeries] = Field(min_length=1, max_length=len(PALETTE))
    note: str = ""

    @model_validator(mode="after")
    def _each_says_what_its_kind_takes(self) -> Self:
        for one in self.drawn:
            bars = one.value is not None and one.parameter is not None
            if (one.series is None) != (self.kind == "bars") or bars != (self.kind == "bars"):
                raise ValueError(
                    f"{one.label}: bars take value and parameter, the other kinds take series"
                )
        return self


def read_figures(folder: Path = FIGURES) -> dict[str, PaperFigure]:
    """The figures by their files' names, in the order of these.

    Raises:
        UserError: a file is not as it should be.
    """
    return {path.stem: figure for path, figure in read_files(PaperFigure, folder)}


def draw_figures(figures: Mapping[str, PaperFigure], runs: Mapping[str, RecordedRun]) -> list[Plot]:
    """Those of the figures for which something has run; smoke runs do not count."""
    compared = {name: run for name, run in runs.items() if run.scale != "smoke"}
    plots = []
    for name, figure in figures.items():
        drawn = [one for one in figure.drawn if _points(one, compared)]
        if drawn:
            picture = Figure(figsize=(6.4, 2.8))
            axes = picture.subplots()
            _KINDS[figure.kind](axes, drawn, compared)
            axes.set(xlabel=figure.across, ylabel=figure.up)
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False, fontsize="small")
            plots.append(Plot(name, figure.title, figure.paper, picture, figure.note))
    return plots


def _points(one: DrawnSeries, runs: Mapping[str, RecordedRun]) -> list[RecordedPoint]:
    """The finished points that have what is drawn."""
    run = runs.get(one.experiment)
    points = [] if run is None else run.finished
    held = [point for point in points if point.has(one.where)]
    if one.series is not None:
        return [point for point in held if point.series.get(one.series)]
    return [point for point in held if one.value in point.metrics]


def _draw_histograms(
    axes: Axes, drawn: Sequence[DrawnSeries], runs: Mapping[str, RecordedRun]
) -> None:
    """Shares of all points' counts, in percent, over bins that grow."""
    for number, one in enumerate(drawn):
        counts: Counter[float] = Counter()
        for point in _points(one, runs):
            assert one.series is not None
            found = point.series[one.series]
            counts.update(dict(zip(found.x, found.y, strict=True)))
        total = sum(counts.values())
        shares = [100 * counts[b] / total for b in BINS[:-1]] if total else [0.0] * (len(BINS) - 1)
        axes.stairs(shares, BINS, fill=True, alpha=0.6, color=PALETTE[number], label=one.label)
    axes.set_xscale("log")


def _draw_curves(axes: Axes, drawn: Sequence[DrawnSeries], runs: Mapping[str, RecordedRun]) -> None:
    """The mean of all points, over those places that the shortest of them reaches."""
    for number, one in enumerate(drawn):
        assert one.series is not None
        found = [point.series[one.series] for point in _points(one, runs)]
        shortest = min(found, key=lambda series: series.x[-1])
        mean = np.mean([np.interp(shortest.x, series.x, series.y) for series in found], axis=0)
        axes.plot(shortest.x, mean, color=PALETTE[number], label=one.label)


def _draw_bars(axes: Axes, drawn: Sequence[DrawnSeries], runs: Mapping[str, RecordedRun]) -> None:
    """The mean over the points of each of the parameter's values, with its 95% interval."""
    names: list[str] = []
    for number, one in enumerate(drawn):
        assert one.value is not None and one.parameter is not None
        values = dict.fromkeys(point.values[one.parameter] for point in _points(one, runs))
        for value in values:
            if value not in names:
                names.append(value)
            quantity = Quantity(
                experiment=one.experiment, value=one.value, where=one.where | {one.parameter: value}
            )
            mean = estimate(quantity.sample(runs))
            width = 0.8 / len(drawn)
            axes.bar(
                names.index(value) + (number - (len(drawn) - 1) / 2) * width,
                mean.mean,
                width,
                yerr=mean.high - mean.mean,
                color=PALETTE[number],
                label=one.label if value == next(iter(values)) else None,
            )
    axes.set_xticks(range(len(names)), names)


_KINDS: dict[str, Callable[[Axes, Sequence[DrawnSeries], Mapping[str, RecordedRun]], None]] = {
    "histogram": _draw_histograms,
    "curves": _draw_curves,
    "bars": _draw_bars,
}
