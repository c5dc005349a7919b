"""Which faults cost results, or leave something behind: injected into every long command.

    python benchmarks/faults.py [--target fuzz@state] [--fault kill] [--kills 20]
        [--interrupts 40] [--rounds 2]

It makes small projects of this checkout, disturbs each command at random moments, and gives the
same command again until it ends by itself. Results, saved state and `dvc.lock` must then have the
bytes of an undisturbed run. No process, half file or temporary name may be left.

Outcomes are kept in logs/faults.jsonl, so that the same call goes on after an interrupt. They
count for as long as no file changes that the command runs. It needs Linux. Full disks and
read-only folders need the right to mount (root), moved clocks need libfaketime and a C compiler
(`apt-get install libfaketime gcc`); where they are missing, the table says so.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from faulting.disturbances import DISTURBANCES, NotHereError
from faulting.projects import ROOT, code_version, commit_told, templates_version
from faulting.table import Cell, Found, Results, markdown
from faulting.targets import TARGETS
from faulting.trial import Reference, Trial


def main() -> None:
    given = _arguments()
    results = Results(ROOT / "logs/faults.jsonl")
    commit = commit_told()
    work = given.work / templates_version()
    targets, faults = given.target or list(TARGETS), given.fault or list(DISTURBANCES)
    versions = {name: code_version(TARGETS[name].stages, TARGETS[name].code) for name in targets}
    wanted = [Cell(versions[t], t, f, given.seed) for t in targets for f in faults]
    if not given.table:
        for name in targets:
            trial = Trial(TARGETS[name], work / given.slot, work)
            row = [cell for cell in wanted if cell.target == name]
            _fill_row(trial, row, results, commit, given)
    cells = {cell: found for cell, found in results.read().items() if cell in wanted}
    command = f"python benchmarks/faults.py --kills {given.kills}"
    command += f" --interrupts {given.interrupts} --rounds {given.rounds}"
    command += f" --seed {given.seed}" if given.seed else ""
    text = markdown(cells, list(TARGETS), command)
    print(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--target", action="append", choices=TARGETS, metavar="NAME", help="a row; all if none"
    )
    parser.add_argument(
        "--fault", action="append", choices=DISTURBANCES, metavar="NAME", help="a column"
    )
    parser.add_argument("--kills", type=int, default=20, help="SIGKILLs of each command")
    parser.add_argument("--interrupts", type=int, default=40, help="of each command")
    parser.add_argument("--rounds", type=int, default=2, help="of each other fault")
    parser.add_argument("--seed", type=int, default=0, help="moments are drawn from it")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the table goes there too")
    parser.add_argument("--slot", default="0", help="calls side by side need different ones")
    folder = Path(tempfile.gettempdir()) / "asterism-faults"
    parser.add_argument("--work", type=Path, default=folder, help="where the projects are")
    return parser.parse_args()


def _fill_row(
    trial: Trial, wanted: Sequence[Cell], results: Results, commit: str, given: argparse.Namespace
) -> None:
    """Run what is wanted of one target and not there yet."""
    missing = []
    for cell in wanted:
        found = results.read().get(cell, Found())
        wanted_of = {"kill": given.kills, "interrupt": given.interrupts}
        numbers = range(len(found.outcomes), wanted_of.get(cell.fault, given.rounds))
        missing += [(cell, numbers)] if numbers and not found.reason else []
    if not missing:
        return
    try:
        reference = trial.reference()
        times = f"{reference.seconds:.1f} s undisturbed, {reference.works:.1f} s of work"
        _say(trial.target.name, times)
        for cell, numbers in missing:
            _fill_cell(cell, numbers, trial, reference, results, commit)
    finally:
        trial.close()


def _fill_cell(
    cell: Cell,
    numbers: range,
    trial: Trial,
    reference: Reference,
    results: Results,
    commit: str,
) -> None:
    rng = random.Random(f"{cell.seed} {cell.target} {cell.fault} {numbers.start}")
    try:
        disturb = DISTURBANCES[cell.fault][1]
        for number, outcome in enumerate(disturb(trial, reference, rng, numbers), numbers.start):
            results.add(cell, commit, outcome)
            told = "; ".join(outcome.problems[:3]) or "ok"
            of = f"{number + 1}/{numbers.stop}"
            _say(cell.target, f"{cell.fault} {of} {outcome.detail}: {told}")
    except NotHereError as error:
        results.add(cell, commit, None, str(error))
        _say(cell.target, f"{cell.fault}: {error}")


def _say(target: str, text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {target:20} {text}", flush=True)


if __name__ == "__main__":
    main()
