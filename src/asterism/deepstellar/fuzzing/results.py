"""Files of a campaign: its corpus and misclassified mutants, their tables, history and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, read_table, write_arrays, write_table
from asterism.core.messages.errors import reading
from asterism.deepstellar.fuzzing.population import GrowingTable, Population

#: Rows of a history.
MOMENTS = 100


def _mutator_sequences(parents: NDArray[np.int64], mutators: Sequence[str]) -> list[str]:
    """The mutators that lead from a seed to each entry of a queue: ``"rotation > pixel_change"``.

    Args:
        parents: int64 ``(Q,)``, each entry's parent, an earlier one, or -1.
        mutators: name of the one that made each entry, empty for seeds.
    """
    sequences: list[str] = []
    for parent, name in zip(parents.tolist(), mutators, strict=True):
        before = sequences[parent] if parent >= 0 else ""
        sequences.append(f"{before} > {name}" if before else name)
    return sequences


def _queue_table(found: Population, names: Sequence[str]) -> pl.DataFrame:
    """A row for each entry of the queue, in the order of the images.

    Columns: ``id``, ``parent`` (an id, -1 for a seed), ``seed`` (the root's position among the
    seeds), ``found`` (mutants run until then), ``mutator`` (the last),
    ``mutators`` (all, from the seed on), ``label``, ``transformed``, ``chosen``.
    """
    rows = found.queue.rows
    made_by = _names(rows["mutator"], names)
    return pl.DataFrame(
        {
            **_origins(rows, made_by, _mutator_sequences(rows["parent"], made_by)),
            "label": rows["label"],
            "transformed": rows["transformed"],
            "chosen": rows["chosen"],
        }
    )


def _crash_table(found: Population, names: Sequence[str]) -> pl.DataFrame:
    """A row for each crash, in the order of the images.

    Columns as in ``queue.csv``, and ``predicted`` and ``group``: crashes of equal label,
    prediction and seed are a group, and groups are numbered in the order of their first crash.
    """
    rows, queue = found.crashes.rows, found.queue.rows
    sequences = _mutator_sequences(queue["parent"], _names(queue["mutator"], names))
    made_by = _names(rows["mutator"], names)
    kinds = np.stack([rows["label"], rows["predicted"], rows["root"]], axis=1)
    _, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))
    before = [sequences[parent] for parent in rows["parent"].tolist()]
    made_by_all = [f"{b} > {m}" if b else m for b, m in zip(before, made_by, strict=True)]
    return pl.DataFrame(
        {
            **_origins(rows, made_by, made_by_all),
            "label": rows["label"],
            "predicted": rows["predicted"],
            "group": numbers[kind.ravel()],
        },
        schema_overrides={"mutator": pl.String, "mutators": pl.String},
    )


def _origins(rows: GrowingTable, last: Sequence[str], mutators: Sequence[str]) -> dict[str, Any]:
    """The columns that say where mutants come from."""
    return {
        "id": np.arange(len(rows)),
        "parent": rows["parent"],
        "seed": rows["root"],
        "found": rows["found"],
        "mutator": last,
        "mutators": mutators,
    }


def _group_table(crashes: pl.DataFrame) -> pl.DataFrame:
    """A row for each group of crashes: how many they are, and the first of them."""
    return (
        crashes.group_by("group")
        .agg(
            pl.col("label").first(),
            pl.col("predicted").first(),
            pl.col("seed").first(),
            pl.len().alias("crashes"),
            pl.col("id").min().alias("first"),
        )
        .sort("group")
    )


def history_columns(found: Population) -> dict[str, list[Any]]:
    """How queue, crashes and coverage grew: a row for every hundredth of the mutants run."""
    moments = np.unique(np.linspace(0, found.run, MOMENTS + 1).astype(np.int64)).tolist()
    table: dict[str, list[Any]] = {
        "mutants": moments,
        "queue": [int((found.queue.rows["found"] <= m).sum()) for m in moments],
        "crashes": [int((found.crashes.rows["found"] <= m).sum()) for m in moments],
    }
    for name in found.visits.found:
        table[name] = [found.visits.coverage(name, m) for m in moments]
    return table


def campaign_metrics(found: Population, crashes: pl.DataFrame) -> dict[str, Any]:
    """A campaign in numbers; coverage is that of the seeds and of all mutants run."""
    names = list(found.visits.found)
    return {
        "mutants": found.run,
        "queue": len(found.queue),
        "crashes": len(found.crashes),
        "crash_groups": crashes["group"].n_unique(),
        "seeds_with_crashes": crashes["seed"].n_unique(),
        "coverage": {name: found.visits.coverage(name, found.run) for name in names},
        "seed_coverage": {name: found.visits.coverage(name, 0) for name in names},
    }


def save_population(found: Population, names: Sequence[str], folder: Path) -> pl.DataFrame:
    """Write queue and crashes with their tables; the table of crashes."""
    crashes = _crash_table(found, names)
    write_arrays(folder / "queue.npz", **_images(found.queue.rows, "label"))
    write_arrays(folder / "crashes.npz", **_images(found.crashes.rows, "label", "predicted"))
    write_table(folder / "queue.csv", _queue_table(found, names))
    write_table(folder / "crashes.csv", crashes)
    write_table(folder / "crash_groups.csv", _group_table(crashes))
    return crashes


@dataclass(frozen=True)
class Corpus:
    """The inputs of a campaign, mostly images, read back from its files.

    Attributes:
        images: ``(N, ...)``, images uint8 ``(N, H, W, C)``.
        labels: int64 ``(N,)``, their seeds' classes.
        table: a row for each image, as ``queue.csv`` and ``crashes.csv`` have it.
    """

    images: NDArray[Any]
    labels: NDArray[np.int64]
    table: pl.DataFrame

    @classmethod
    def load(cls, folder: Path, name: str) -> Corpus:
        """The ``queue`` or the ``crashes`` that :func:`save_population` wrote into a folder."""
        with reading(f"the {name} in {folder}"):
            arrays = read_arrays(folder / f"{name}.npz")
            return cls(arrays["images"], arrays["label"], read_table(folder / f"{name}.csv"))


def _images(rows: GrowingTable, *others: str) -> dict[str, NDArray[Any]]:
    return {name: rows[name] for name in ("images", *others)}


def _names(mutators: NDArray[np.int16], names: Sequence[str]) -> list[str]:
    return [names[number] if number >= 0 else "" for number in mutators.tolist()]
