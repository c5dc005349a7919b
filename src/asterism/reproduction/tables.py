"""A paper's table beside the recorded runs, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_table
from asterism.core.messages.errors import UserError
from asterism.reproduction.claims import Column, PaperTable, Row
from asterism.reproduction.records import Estimate, Quantity, RecordedRun, estimate

#: Where the papers' tables lie in the project.
PAPERS = Path("results/papers")


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        paper: the paper's; None where it has none.
        here: that of the recorded runs; None where there is none.
    """

    paper: float | None
    here: Estimate | None


@dataclass(frozen=True)
class FilledRow:
    """A row of a table.

    Attributes:
        keys: the cells that name it.
        cells: its numbers, by the columns' order.
        runs: the experiments that answer it, with their scales, how many runs there are, and how
            many seeds each has; empty where none has run.
    """

    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    runs: tuple[str, ...]


def fill_table(
    table: PaperTable, runs: Mapping[str, RecordedRun], folder: Path = PAPERS
) -> list[FilledRow]:
    """The table's rows with the numbers of the recorded runs.

    Args:
        table: the table.
        runs: of :func:`~asterism.reproduction.records.largest_runs`. Smoke runs do not count, as
            they have other data.
        folder: with the papers' CSV files.

    Raises:
        UserError: the paper's file has no such row or column.
    """
    rows = read_table(folder / table.file).to_dicts()
    known = {_name(row, table.keys): row for row in rows}
    for answered in table.rows:
        if answered.row not in known:
            raise UserError(f"{table.file} has no row {answered.row!r}")
    for column in table.columns:
        if column.paper is not None and column.paper not in rows[0]:
            raise UserError(f"{table.file} has no column {column.paper!r}")
    compared = {name: run for name, run in runs.items() if run.scale != "smoke"}
    answers = {row.row: row for row in table.rows}
    return [_filled(table, name, row, answers.get(name), compared) for name, row in known.items()]


def _name(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return "/".join(str(row[key]) for key in keys)


def _filled(
    table: PaperTable,
    name: str,
    paper: Mapping[str, Any],
    answered: Row | None,
    runs: Mapping[str, RecordedRun],
) -> FilledRow:
    used: dict[str, None] = {}
    cells = []
    for column in table.columns:
        value = None if column.paper is None else paper[column.paper]
        here = None
        for experiment in answered.experiments if answered is not None else ():
            assert answered is not None
            sample = _quantity(column, answered, experiment).sample(runs) if column.value else []
            if sample:
                here = estimate(sample)
                told = _describe_run(table, column, answered, runs[experiment], len(sample))
                used[f"{experiment} ({told})"] = None
                break
        cells.append(Cell(None if value is None else float(value), here))
    return FilledRow(tuple(name.split("/")), tuple(cells), tuple(used))


def _describe_run(table: PaperTable, column: Column, row: Row, run: RecordedRun, count: int) -> str:
    """The scale of an experiment, its runs, and the seeds of each."""
    told = f"{run.scale}, {count} run{'s' if count > 1 else ''}"
    for size in table.sizes:
        sized = Column(title="seeds", value=size, where=column.where)
        if seeds := _quantity(sized, row, run.experiment).sample({run.experiment: run}):
            low, high = min(seeds), max(seeds)
            return f"{told} of {low:g}{'' if low == high else f' to {high:g}'} seeds"
    return told


def _quantity(column: Column, row: Row, experiment: str) -> Quantity:
    value, over = (
        None if name is None else name.replace("PAIR", row.pair)
        for name in (column.value, column.over)
    )
    assert value is not None
    return Quantity(
        experiment=experiment,
        value=value,
        over=over,
        times=column.times,
        where=row.where | column.where,
    )
