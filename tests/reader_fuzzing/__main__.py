"""Fuzz the readers: ``python -m reader_fuzzing --examples 20000`` (``make fuzz-readers``)."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from reader_fuzzing.campaign import (
    Campaign,
    Failure,
    Outcome,
    load_failure,
    make_seeds,
    of_family,
    shares,
)
from reader_fuzzing.confirm import confirmed
from reader_fuzzing.examples import Example
from reader_fuzzing.table import FAMILIES, READERS
from reader_fuzzing.watch import CPU_S, MEMORY_MB, Server, Verdict

_HEAD = (
    "reader",
    "examples",
    "values",
    "rejected",
    "failures",
    "died alone",
    "slowest s",
    "peak MB",
)


def main() -> int:
    """The exit status: 0 where every example gave a value or one line of rejection."""
    options = _options()
    if options.replay:
        return _replay(options.replay)
    unknown = [name for name in options.reader if name not in READERS]
    if unknown:
        print(f"error: there is no reader {unknown[0]!r} (known: {', '.join(READERS)})")
        return 1
    outcomes: dict[str, Outcome] = {}
    started = time.monotonic()
    try:
        _fuzz(options, outcomes)
    except KeyboardInterrupt:
        print("\ninterrupted; what was found until now:")
    except BaseException:
        _print_table(outcomes, time.monotonic() - started)
        raise
    _print_table(outcomes, time.monotonic() - started)
    failures = [f for outcome in outcomes.values() for f in outcome.failures.values()]
    for failure in failures:
        place = failure.save(options.failures)
        print(f"\n{failure.reader}: {failure.verdict.kind} ({failure.count} examples)")
        print(f"  {failure.verdict.what}\n  made by: {failure.example.origin}")
        print(f"  again:   make fuzz-readers REPLAY={place}")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reader_fuzzing", description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0, help="another gives other examples")
    parser.add_argument("--reader", action="append", default=[], help="only this one")
    parser.add_argument(
        "--failures", type=Path, default=Path("logs/readers"), help="folder for failing examples"
    )
    parser.add_argument("--cpu-s", type=float, default=CPU_S, help="processor time of an example")
    parser.add_argument("--replay", type=Path, help="read one failing example again")
    return parser.parse_args()


def _fuzz(options: argparse.Namespace, outcomes: dict[str, Outcome]) -> None:
    chosen = [reader for family in FAMILIES for reader in of_family(family, options.reader)]
    counts = shares(chosen, options.examples)
    with (
        tempfile.TemporaryDirectory(prefix="asterism-readers-") as folder,
        tqdm(
            total=sum(counts.values()), unit="example", mininterval=1 if sys.stderr.isatty() else 30
        ) as bar,
    ):
        home = Path(folder)
        for family in FAMILIES:
            readers = of_family(family, options.reader)
            if not readers:
                continue
            bar.set_description(f"{family}: whole files")
            make_seeds(family, home / "seeds", options.reader)
            with Server(family, home / family, home / "seeds", options.cpu_s) as server:
                for reader in readers:

                    def confirm(example: Example, died: Verdict, reader=reader) -> Verdict:
                        return confirmed(reader, example, died, home / "isolated")

                    campaign = Campaign(
                        reader, home / "seeds", options.seed, counts[reader.name], confirm
                    )
                    outcomes[reader.name] = campaign.outcome
                    bar.set_description(reader.name)
                    while campaign.next < campaign.count:
                        done = campaign.next
                        campaign.run(server, until=time.monotonic() + 1)
                        bar.update(campaign.next - done)
                        bar.set_postfix(failures=sum(len(o.failures) for o in outcomes.values()))


def _print_table(outcomes: dict[str, Outcome], seconds: float) -> None:
    rows: list[Sequence[object]] = [_HEAD]
    for name, outcome in outcomes.items():
        counts = outcome.counts
        rows.append(
            (name, counts.examples, counts.values, counts.rejected, counts.failures,
             counts.died_alone, f"{counts.slowest:.1f}", counts.peak_mb)
        )  # fmt: skip
    all_counts = [outcome.counts for outcome in outcomes.values()]
    sums = [sum(t[key] for t in map(vars, all_counts)) for key in
            ("examples", "values", "rejected", "failures", "died_alone")]  # fmt: skip
    slowest = max((t.slowest for t in all_counts), default=0)
    peak = max((t.peak_mb for t in all_counts), default=0)
    rows.append(("all", *sums, f"{slowest:.1f}", peak))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(_HEAD))]
    for row in rows:
        first, *rest = (str(cell) for cell in row)
        cells = [
            first.ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True)),
        ]
        print("  ".join(cells))
    print(
        f"{seconds / 60:.0f} minutes; limits of an example: {CPU_S:.0f} s of a processor, "
        f"{MEMORY_MB} MB"
    )


def _replay(place: Path) -> int:
    reader, example = load_failure(place)
    with tempfile.TemporaryDirectory(prefix="asterism-readers-") as folder:
        home = Path(folder)
        make_seeds(reader.family, home / "seeds", [reader.name])
        with Server(reader.family, home / "server", home / "seeds") as server:
            verdict = server.read(reader, example)
            if verdict.kind in ("crash", "hang", "memory") and reader.isolated:
                verdict = confirmed(reader, example, verdict, home / "isolated")
            print(f"{reader.name}: {verdict.kind}\n{verdict.what}")
            if verdict.kind == "crash":
                print(server.last_words(40))
    return int(verdict.failed)


__all__ = ["Failure", "main"]

if __name__ == "__main__":
    sys.exit(main())
