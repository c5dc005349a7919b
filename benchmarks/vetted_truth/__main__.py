"""Pairs whose truth is known, given to plain ``asterism vet``: is what it says true?

    python benchmarks/vetted_truth run --pairs 400 --seed 0 --work FOLDER [--jobs 2]
    python benchmarks/vetted_truth table --seed 0 --work FOLDER     # of what was run already
    python benchmarks/vetted_truth modules --pairs 200 --seed 0 --work FOLDER   # of PyTorch
    python benchmarks/vetted_truth cases --cases ../shared/cases --work FOLDER [--case 11]

A pair's truth is counted by the files' own runtimes; see ``counting.py``. An interrupted ``run``
resumes: each outcome is a line of ``FOLDER/outcomes.jsonl``, and the pairs stay in
``FOLDER/pairs``. ``cases`` runs the situations that people report (``cases.py``) and prints the
truth beside the answer. Every command ends with status 1 where something is not true.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests" / "localisation")]

from vetted_truth.cases import cases_in, run_case, shown, wrong_with  # noqa: E402
from vetted_truth.running import Runs, read_outcomes, run_all  # noqa: E402

#: How failures begin that are counted in a column of their own.
_FAILURES = {
    "wrong": ("verdict", "repair"),
    "figures": ("figure",),
    "errors": ("traceback", "dead end", "status", "asks"),
}


def table(lines: Sequence[dict[str, Any]]) -> str:
    """Counts by the kind of output, and each failure in a line."""
    frame = polars.DataFrame(list(map(_facts, lines)), schema_overrides={"blamed": polars.Boolean})
    counts = [polars.len().alias("pairs"), polars.col("asked", *_FAILURES, "other", "blamed").sum()]
    counts += [polars.col("blamed").count().alias("damaged"), polars.col("seconds").mean().round(1)]
    with polars.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=150, tbl_hide_dataframe_shape=True
    ):
        told = [str(frame.group_by("kind").agg(counts).sort("kind")), str(frame.select(counts))]
    for line in lines:
        for text in (*line["failures"], *(f"({note})" for note in line["notes"])):
            told.append(f"{_named(line)}: {text}")
    return "\n".join(told)


def _facts(line: dict[str, Any]) -> dict[str, Any]:
    kinds = [[k for k, b in _FAILURES.items() if f.startswith(b)] for f in line["failures"]]
    facts = {key: line[key] for key in ("kind", "blamed", "seconds")}
    facts |= {kind: [kind] in kinds for kind in _FAILURES}
    return facts | {"other": [] in kinds, "asked": bool(line["asked"])}


def _named(line: dict[str, Any]) -> str:
    labels = ", labels" if line["labelled"] else ""
    made = f"{line['kind']} of {line['input_kind']}, {line['form']}, {line['damage']}{labels}"
    return f"{line['number']:04d} ({made})"


def run_cases(folder: Path, work: Path, asterism: Path, only: str | None) -> int:
    """Run the cases, and print the truth beside the answer."""
    if not folder.is_dir():
        print(f"there is no folder {folder}: its cases are skipped")
        return 0
    names = [name for name in cases_in(folder) if only in (None, name[:2])]
    wrong = 0
    for name in names:
        ran = run_case(folder, name, work, asterism)
        print(shown(ran), flush=True)
        wrong += bool(wrong_with(ran))
    print(f"{len(names) - wrong} of {len(names)} are right")
    return int(wrong > 0)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("command", choices=("run", "modules", "table", "cases"))
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="pairs at a time")
    parser.add_argument("--cases", type=Path, help="the folder of the cases")
    parser.add_argument("--case", help="a case's number; without it all are run")
    chosen = parser.parse_args()
    work, command = chosen.work.resolve(), shutil.which("asterism")
    if command is None:
        parser.error("the command `asterism` is not on the PATH")
    if chosen.command == "cases":
        return run_cases(chosen.cases.resolve(), work, Path(command), chosen.case)
    file, lines = work / "outcomes.jsonl", []
    if chosen.command == "table":
        lines = [line for _, line in sorted(read_outcomes(file, chosen.seed).items())]
    else:
        run: Callable[[int], dict[str, Any]] = Runs(work, chosen.seed, command).run
        pool: Executor = ThreadPoolExecutor(chosen.jobs)
        if chosen.command == "modules":
            from vetted_truth.modules import run_pair

            run, file = partial(run_pair, chosen.seed), work / "modules.jsonl"
            pool = ProcessPoolExecutor(chosen.jobs, get_context("spawn"))
        for line in run_all(run, chosen.pairs, file, chosen.seed, pool):
            lines.append(line)
            said = "; ".join(line["failures"]) or line["word"]
            print(f"{_named(line)}: {said} ({line['seconds']:.0f} s)", flush=True)
    print(table(lines))
    return int(any(line["failures"] for line in lines))


if __name__ == "__main__":
    sys.exit(main())
