"""The corpus and the misclassified mutants of a fuzzing campaign, and what it has covered."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, read_json, write_json
from asterism.core.messages.errors import reading
from asterism.core.resuming.checkpoints import count_appended_items
from asterism.deepstellar.fuzzing.mutants import Lineages
from asterism.deepstellar.seeds import SeedInputs

#: In the columns ``parent`` and ``mutator``: a seed has none.
NONE = -1

#: The folders of a state to which :meth:`Population.save` adds files.
GROWING = ("queue", "crashes")


class SeedQueue:
    """The seeds, followed by the mutants that reached something new.

    Its columns are ``images``, ``references`` and ``transformed`` as in
    :class:`~asterism.deepstellar.fuzzing.mutants.Lineages`, and ``parent`` (an entry of the
    queue), ``root`` (a seed), ``mutator`` (a number), ``found`` (mutants run until then),
    ``label`` (the root seed's class) and ``chosen`` (how often it was a parent).
    """

    def __init__(self, rows: GrowingTable) -> None:
        self.rows = rows

    @classmethod
    def of_seeds(cls, seeds: SeedInputs) -> SeedQueue:
        """A queue that holds the seeds only."""
        count = len(seeds)
        none = np.full(count, NONE, np.int64)
        return cls(
            GrowingTable(
                {
                    "images": seeds.images,
                    "references": seeds.images,
                    "transformed": np.zeros(count, np.bool_),
                    "parent": none,
                    "root": np.arange(count),
                    "mutator": none.astype(np.int16),
                    "found": np.zeros(count, np.int64),
                    "label": seeds.labels,
                    "chosen": np.zeros(count, np.int64),
                }
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def lineages(self, entries: NDArray[np.int64]) -> Lineages:
        """Some entries as parents of mutants."""
        columns = (self.rows[name][entries] for name in ("images", "references", "transformed"))
        return Lineages(*columns)

    def labels(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """The labels of some entries."""
        return self.rows["label"][entries]

    def offspring(
        self, parents: NDArray[np.int64], mutators: NDArray[np.int16], found: int
    ) -> dict[str, NDArray[Any]]:
        """The columns of a mutant's row that tell its descent."""
        return {
            "parent": parents,
            "root": self.rows["root"][parents],
            "mutator": mutators,
            "found": np.full(len(parents), found, np.int64),
            "label": self.labels(parents),
        }

    def add(self, mutants: Lineages, descent: Mapping[str, NDArray[Any]]) -> None:
        """Append mutants."""
        self.rows.append(
            {
                "images": mutants.images,
                "references": mutants.references,
                "transformed": mutants.transformed,
                "chosen": np.zeros(len(mutants), np.int64),
                **descent,
            }
        )


class Crashes:
    """Mutants whose prediction is not their seed's class; equal images count once.

    Its columns are ``images``, ``predicted``, and ``parent``, ``root``, ``mutator``, ``found`` and
    ``label`` as in :class:`SeedQueue`.
    """

    def __init__(self, rows: GrowingTable) -> None:
        self.rows = rows
        self._known = {fingerprint(image) for image in rows["images"]}

    @classmethod
    def none_yet(cls, inputs: NDArray[Any]) -> Crashes:
        """An empty table for inputs like these."""
        empty = np.empty(0, np.int64)
        return cls(
            GrowingTable(
                {
                    "images": inputs[:0],
                    "parent": empty,
                    "root": empty,
                    "mutator": empty.astype(np.int16),
                    "found": empty,
                    "label": empty,
                    "predicted": empty,
                }
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Append the rows with new images."""
        fresh = []
        for position, image in enumerate(rows["images"]):
            digest = fingerprint(image)
            if digest not in self._known:
                self._known.add(digest)
                fresh.append(position)
        if fresh:
            self.rows.append({name: array[fresh] for name, array in rows.items()})


def fingerprint(image: NDArray[np.uint8]) -> bytes:
    """16 bytes that differ for different images of one shape."""
    return hashlib.blake2b(image.tobytes(), digest_size=16).digest()


@dataclass
class FirstVisits:
    """For each item of each criterion, when it was first visited.

    Attributes:
        found: by criterion, int64 ``(items,)``, mutants run until then, 0 for the seeds, -1 for
            never. Coverage at any moment of a campaign follows from it.
    """

    found: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def never(cls, sizes: Mapping[str, int]) -> FirstVisits:
        """First visits before any; ``sizes`` gives each criterion's number of items."""
        return cls({name: np.full(size, -1, np.int64) for name, size in sizes.items()})

    def note(self, name: str, items: NDArray[np.int32], found: int) -> None:
        """Record that items were visited; -1 counts as none, any shape is allowed."""
        first = self.found[name]
        visited = items[items >= 0]
        first[visited[first[visited] < 0]] = found

    def coverage(self, name: str, until: int) -> float:
        """The share of items visited up to a time; 1 if there are no items."""
        first = self.found[name]
        return float(((first >= 0) & (first <= until)).mean()) if len(first) else 1.0


@dataclass
class Population:
    """Everything that a campaign has found so far.

    Attributes:
        queue: seeds and mutants that told something new.
        crashes: mutants that changed the prediction.
        visits: when items of each coverage criterion were first visited.
        run: mutants run through the network.
    """

    queue: SeedQueue
    crashes: Crashes
    visits: FirstVisits
    run: int = 0

    def save(self, folder: Path) -> None:
        """Write a state in which the folders :data:`GROWING` grow; the rest is small."""
        self.queue.rows.save_new(folder / "queue", ["chosen"])
        self.crashes.rows.save_new(folder / "crashes")
        changing = {"chosen": self.queue.rows["chosen"]}
        np.savez(folder / "chosen.npz", allow_pickle=False, **changing)
        np.savez(folder / "visits.npz", allow_pickle=False, **self.visits.found)
        write_json(folder / "run.json", self.run)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The population that :meth:`save` wrote."""
        with reading(f"the state of a campaign in {folder}"):
            chosen = read_arrays(folder / "chosen.npz")
            return cls(
                SeedQueue(GrowingTable.load_all(folder / "queue", chosen)),
                Crashes(GrowingTable.load_all(folder / "crashes", {})),
                FirstVisits(read_arrays(folder / "visits.npz")),
                read_json(folder / "run.json"),
            )


class GrowingTable:
    """A growing table of arrays.

    Rows never change place. A view that was taken before the table grew stays valid, so other
    threads may read rows while one thread appends.

    Args:
        rows: the first rows; their dtypes and shapes are the table's.
    """

    def __init__(self, rows: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = {name: array.copy() for name, array in rows.items()}
        self._length = len(next(iter(rows.values())))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column's rows; writing to it changes the table."""
        return self._arrays[name][: self._length]

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, all columns at once."""
        added = len(next(iter(rows.values())))
        end = self._length + added
        for name, array in self._arrays.items():
            if end > len(array):
                grown = np.empty((max(2 * len(array), end), *array.shape[1:]), array.dtype)
                grown[: self._length] = array[: self._length]
                self._arrays[name] = grown
            self._arrays[name][self._length : end] = rows[name]
        self._length = end

    def save_new(self, folder: Path, changing: Collection[str] = ()) -> None:
        """Write the rows that no file of the folder holds yet into a new file.

        Args:
            folder: where; its files are named as
                :func:`asterism.core.resuming.checkpoints.count_appended_items` says.
            changing: columns that are left out, since their rows change.
        """
        folder.mkdir(exist_ok=True)
        path = folder / f"{len(self):08d}.npz"
        if not path.exists():
            rows = {
                n: self[n][count_appended_items(folder) :]
                for n in self._arrays
                if n not in changing
            }
            np.savez(path, allow_pickle=False, **rows)

    @classmethod
    def load_all(cls, folder: Path, changing: Mapping[str, NDArray[Any]]) -> Self:
        """The table whose rows :meth:`save_new` has saved, with the columns that were left out."""
        parts = [read_arrays(path) for path in sorted(folder.glob("*.npz"))]
        return cls({n: np.concatenate([p[n] for p in parts]) for n in parts[0]} | dict(changing))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All columns."""
        return {name: self[name] for name in self._arrays}
