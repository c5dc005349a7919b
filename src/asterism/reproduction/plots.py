"""Pictures of the comparison: bars of the paper's numbers beside those of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from asterism.core.drawing.svg import PALETTE
from asterism.reproduction.claims import Claim, PaperTable, judge
from asterism.reproduction.records import RecordedRun
from asterism.reproduction.rules import NOT_COMPARABLE
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
            if claim.rule == "falls_with" and judge(claim, runs).word != NOT_COMPARABLE:
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
                high = cell.here.mean if cell.here.high is None else cell.here.high
                axes.barh(
                    number + 0.2,
                    cell.here.mean,
                    0.38,
                    xerr=high - cell.here.mean,
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
