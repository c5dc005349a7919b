"""What a search found: one row for each seed, the triggering inputs, and minimal versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, read_table, write_arrays, write_table
from asterism.core.messages.errors import reading

if TYPE_CHECKING:
    import polars as pl

#: How a seed's search can end.
TRIGGERED = "triggered"
EXHAUSTED = "exhausted"  # the budget of queries
OUT_OF_TIME = "out_of_time"  # the ceiling on a seed's time
DEVIATES_ALREADY = "deviates_already"  # the seed itself; it is not searched
FAILED = "failed"  # a model had no answer for the seed or a mutant

Items = NDArray[Any]


@dataclass
class Trigger:
    """A triggering input.

    Attributes:
        seed: number of its seed in the set that seeds come from.
        queries: mutants of this seed that had been evaluated when it was found.
        operators: names of the operators that lead from the seed to it, in order.
        item: the input.
        f: outputs of the original, float32 ``(K,)``.
        g: outputs of the compressed model, float32 ``(K,)``.
        consequential: whether the original is sure and right and the compressed model sure and
            wrong; None where the search did not ask.
    """

    seed: int
    queries: int
    operators: tuple[str, ...]
    item: Items
    f: NDArray[np.float32]
    g: NDArray[np.float32]
    consequential: bool | None = None


@dataclass
class SeedRecord:
    """How the search from one seed went.

    Attributes:
        seed: its number in the set that seeds come from.
        outcome: one of the constants of this module.
        queries: mutants evaluated.
        reason: why it failed, else empty.
    """

    seed: int
    outcome: str
    queries: int
    reason: str = ""


@dataclass
class SearchResult:
    """All that one search method found.

    Attributes:
        seeds: a record for each seed.
        triggers: the triggering inputs.
        minimal: each triggering input with fewer changes, and the models' outputs for it; empty
            where they were not to be minimised.
    """

    seeds: list[SeedRecord] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    minimal: list[Trigger] = field(default_factory=list)

    @classmethod
    def merged(cls, groups: Sequence[Self]) -> Self:
        """The results of all groups of seeds, which are in the order of their seeds."""
        return cls(
            [record for group in groups for record in group.seeds],
            [trigger for group in groups for trigger in group.triggers],
            [trigger for group in groups for trigger in group.minimal],
        )

    def sort(self) -> None:
        """Order everything by seed, then by queries."""
        self.seeds.sort(key=lambda record: record.seed)
        self.triggers.sort(key=lambda trigger: (trigger.seed, trigger.queries))

    def save(self, folder: Path) -> None:
        """Write ``seeds.csv``, ``triggers.csv``, ``triggers.npz``, and ``minimal.npz`` if any."""
        import polars as pl

        write_table(folder / "seeds.csv", seed_table(self.seeds))
        columns: dict[str, list[Any]] = {
            "seed": [t.seed for t in self.triggers],
            "queries": [t.queries for t in self.triggers],
            "operators": [" ".join(t.operators) for t in self.triggers],
        }
        types: dict[str, Any] = {"seed": pl.Int64, "queries": pl.Int64, "operators": pl.String}
        if any(t.consequential is not None for t in self.triggers):
            columns["consequential"] = [int(bool(t.consequential)) for t in self.triggers]
            types["consequential"] = pl.Int64
        write_table(folder / "triggers.csv", pl.DataFrame(columns, schema=types))
        _write_inputs(folder / "triggers.npz", self.triggers)
        if self.minimal:
            _write_inputs(folder / "minimal.npz", self.minimal)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The findings that :meth:`save` wrote."""
        with reading(f"what a search found, in {folder}"):
            records = read_table(folder / "seeds.csv").to_dicts()
            rows = read_table(folder / "triggers.csv").to_dicts()
            minimal = folder / "minimal.npz"
            return cls(
                [SeedRecord(**{**r, "reason": r["reason"] or ""}) for r in records],
                _read_inputs(folder / "triggers.npz", rows),
                _read_inputs(minimal, rows) if minimal.exists() else [],
            )


def seed_table(records: Sequence[SeedRecord]) -> pl.DataFrame:
    """One row for each seed."""
    import polars as pl

    return pl.DataFrame(
        {
            "seed": [r.seed for r in records],
            "outcome": [r.outcome for r in records],
            "queries": [r.queries for r in records],
            "reason": [r.reason for r in records],
        },
        schema={"seed": pl.Int64, "outcome": pl.String, "queries": pl.Int64, "reason": pl.String},
    )


def _write_inputs(path: Path, triggers: Sequence[Trigger]) -> None:
    """Inputs ``(T, ...)`` and both models' outputs, float32 ``(T, K)``."""
    write_arrays(
        path,
        items=_stacked([t.item for t in triggers]),
        f=_stacked([t.f for t in triggers]),
        g=_stacked([t.g for t in triggers]),
    )


def _read_inputs(path: Path, rows: Sequence[dict[str, Any]]) -> list[Trigger]:
    """What :func:`_write_inputs` wrote, with the rows of ``triggers.csv``."""
    arrays = read_arrays(path)
    return [
        Trigger(
            row["seed"],
            row["queries"],
            tuple((row["operators"] or "").split()),
            arrays["items"][i],
            arrays["f"][i],
            arrays["g"][i],
            bool(row["consequential"]) if "consequential" in row else None,
        )
        for i, row in enumerate(rows)
    ]


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.stack(parts) if parts else np.empty((0,), np.uint8)
