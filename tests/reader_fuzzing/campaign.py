"""A campaign: the examples of a reader, in an order that its seed decides, and their verdicts."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

from reader_fuzzing import table
from reader_fuzzing.attacks import attacks_on
from reader_fuzzing.examples import Example
from reader_fuzzing.fresh import made_up
from reader_fuzzing.mutate import Step, carried_out, plan
from reader_fuzzing.table import READERS, Reader
from reader_fuzzing.watch import Server, Verdict

#: Share of a reader's examples that Hypothesis makes up, where it has a strategy.
FRESH = 0.2
#: Trials of making a failing example smaller.
TRIALS = 150


@dataclass
class Counts:
    """What came of a reader's examples."""

    examples: int = 0
    values: int = 0
    rejected: int = 0
    failures: int = 0
    died_alone: int = 0
    slowest: float = 0.0
    peak_mb: int = 0
    seconds: float = 0.0

    def count(self, verdict: Verdict) -> None:
        self.examples += 1
        self.values += verdict.kind == "value"
        self.rejected += verdict.kind == "rejected"
        self.failures += verdict.failed
        self.slowest = max(self.slowest, verdict.seconds)
        self.peak_mb = max(self.peak_mb, verdict.peak_mb)
        self.seconds += verdict.seconds


@dataclass
class Failure:
    """The first example that showed a defect, made smaller, and how many did."""

    reader: str
    example: Example
    verdict: Verdict
    index: int
    count: int = 1

    def save(self, folder: Path) -> Path:
        """Write it where ``python -m reader_fuzzing --replay`` finds it."""
        words = f"{self.reader}-{self.verdict.kind}-{self.index}"
        place = folder / "".join(c if c.isalnum() or c in "-." else "_" for c in words)
        self.example.write(place / "example")
        facts = {
            "reader": self.reader,
            "main": self.example.main,
            "origin": self.example.origin,
            "index": self.index,
            "verdict": asdict(self.verdict),
        }
        (place / "failure.json").write_text(json.dumps(facts, indent=2) + "\n")
        return place


def load_failure(place: Path) -> tuple[Reader, Example]:
    """What :meth:`Failure.save` wrote."""
    facts = json.loads((place / "failure.json").read_text())
    return READERS[facts["reader"]], Example.read(place / "example", facts["main"])


@dataclass
class Outcome:
    """A reader's counts and the defects found, by signature."""

    counts: Counts = field(default_factory=Counts)
    failures: dict[str, Failure] = field(default_factory=dict)


def make_seeds(family: str, folder: Path, only: Sequence[str] = ()) -> None:
    """Have the whole files of a family's readers written to ``folder/<reader>/<number>/``."""
    wanted = [r for r in of_family(family, only) if not (folder / r.name).is_dir()]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as home, Server(family, Path(home) / "s", None) as server:
        for reader in wanted:
            partial = folder / f".{reader.name}"
            server.make_seeds(reader, partial)
            partial.rename(folder / reader.name)


def of_family(family: str, only: Sequence[str] = ()) -> list[Reader]:
    return [r for r in READERS.values() if r.family == family and (not only or r.name in only)]


def read_seeds(reader: Reader, folder: Path) -> list[Example]:
    """A reader's whole examples."""
    places = sorted(place for place in (folder / reader.name).iterdir() if place.is_dir())
    return [Example.read(place, reader.main) for place in places]


class Examples:
    """All examples of a reader by index: the attacks first, then mutants without end.

    Args:
        reader: whose.
        whole: its whole examples.
        seed: another gives other mutants.
        fresh: documents that Hypothesis makes up.
    """

    def __init__(self, reader: Reader, whole: Sequence[Example], seed: int, fresh: int) -> None:
        self._reader, self._seed = reader, seed
        self.attacks = [*(partial(replace, one) for one in whole), *attacks_on(reader, whole)]
        self._whole = list(whole)
        self._fresh: list[Example] = []
        if reader.fresh:
            first = whole[0]
            name = reader.main if reader.main != "." else next(iter(first.files))
            documents = made_up(reader.fresh, fresh, seed)
            self._fresh = [first.change(name, d, "made up") for d in documents]

    def __getitem__(self, index: int) -> Example:
        if index < len(self.attacks):
            return self.attacks[index]()
        base, steps = self.recipe(index)
        return carried_out(base, steps, self._whole)

    def recipe(self, index: int) -> tuple[Example, list[Step]]:
        """What a mutant is made of."""
        random = Random(f"{self._seed}/{self._reader.name}/{index}")
        if self._fresh and random.random() < FRESH:
            base = random.choice(self._fresh)
            return base, plan(base, random) if random.random() < 0.3 else []
        base = random.choice(self._whole)
        return base, plan(base, random)

    def smaller(self, index: int, same: Callable[[Example], bool]) -> Example:
        """The mutant with as few mutations, files and bytes as still do ``same``."""
        example = self[index]
        trials = iter(range(TRIALS))
        base, steps = self.recipe(index)
        for step in list(steps):
            fewer = [s for s in steps if s is not step]
            if fewer and next(trials, None) is not None:
                tried = carried_out(base, fewer, self._whole)
                if same(tried):
                    steps, example = fewer, tried
        smallest = [example]
        for tried in _cut(example, trials, lambda: smallest[-1]):
            if same(tried):
                smallest.append(tried)
        return smallest[-1]


def _cut(first: Example, trials: Iterator[int], now: Callable[[], Example]) -> Iterator[Example]:
    """Examples without a file, then without pieces of the main file; ``now`` is the smallest."""
    for name in sorted(first.files):
        if name != first.main and len(first.files) > 1 and next(trials, None) is not None:
            yield now().change(name, None)
    size = len(_main(now()))
    while size > 1:
        size //= 2
        at = 0
        while at < len(_main(now())):
            if next(trials, None) is None:
                return
            before = now()
            data = _main(before)
            yield before.change(_largest(before), data[:at] + data[at + size :])
            if now() is before:
                at += size


def _largest(example: Example) -> str:
    if isinstance(example.files.get(example.main), bytes):
        return example.main
    sizes = {n: len(c) for n, c in example.files.items() if isinstance(c, bytes)}
    return max(sizes, key=lambda name: sizes[name], default="")


def _main(example: Example) -> bytes:
    content = example.files.get(_largest(example), b"")
    return content if isinstance(content, bytes) else b""


class Campaign:
    """Examples of one reader, given to a server one after another.

    Args:
        reader: whose.
        seeds: where the whole files of all readers lie.
        seed: of the mutants.
        count: examples, the attacks among them.
        confirm: decides whether a library that died of an isolated reader's file is an answer
            where Asterism really opens it; None where that is not asked.
    """

    def __init__(
        self,
        reader: Reader,
        seeds: Path,
        seed: int,
        count: int,
        confirm: Callable[[Example, Verdict], Verdict] | None = None,
    ) -> None:
        self._reader, self._confirm = reader, confirm
        fresh = min(400, max(10, int(count * FRESH)))
        self.examples = Examples(reader, read_seeds(reader, seeds), seed, fresh)
        self.count = count
        self.outcome = Outcome()
        self.next = 0

    def run(self, server: Server, until: float = float("inf"), shrink: bool = True) -> Outcome:
        """Read the rest of the examples, or as many as fit until a moment of the clock."""
        while self.next < self.count and time.monotonic() < until:
            index = self.next
            self.next += 1
            example = self.examples[index]
            verdict = self._judged(server, example)
            self.outcome.counts.count(verdict)
            if verdict.failed:
                self._note(server, index, example, verdict, shrink)
        return self.outcome

    def _judged(self, server: Server, example: Example) -> Verdict:
        verdict = server.read(self._reader, example)
        died = verdict.kind in ("crash", "hang", "memory")
        if died and self._reader.isolated and self._confirm is not None:
            self.outcome.counts.died_alone += 1
            return self._confirm(example, verdict)
        return verdict

    def _note(
        self, server: Server, index: int, example: Example, verdict: Verdict, shrink: bool
    ) -> None:
        known = self.outcome.failures.get(verdict.signature)
        if known is not None:
            known.count += 1
            return
        crafted = index < len(self.examples.attacks)  # as small as it gets
        if shrink and not crafted and verdict.kind in ("traceback", "bad message"):
            signature = verdict.signature
            example = self.examples.smaller(
                index, lambda tried: server.read(self._reader, tried).signature == signature
            )
        failure = Failure(self._reader.name, example, verdict, index)
        self.outcome.failures[verdict.signature] = failure


def shares(readers: Sequence[Reader], total: int) -> dict[str, int]:
    """How many examples each reader gets, by its weight."""
    weights = Counter({reader.name: reader.weight for reader in readers})
    return {name: -(-total * weight // weights.total()) for name, weight in weights.items()}


__all__ = ["Campaign", "Counts", "Failure", "Outcome", "make_seeds", "shares", "table"]
