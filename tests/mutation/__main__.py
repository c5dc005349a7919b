"""``python -m mutation``: what the tests do not notice, by package."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mutation.checkout import Copy
from mutation.executed import Profile, executed_by
from mutation.faults import Fault, faults_of
from mutation.running import FAILED, import_libraries, run_tests

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENTS = Path(__file__).with_name("equivalents.json")
#: Tests of a package that do not lie in the folder of its name.
NEAREST = {
    "sweep": ("pipeline",),
    "dvc_hydra": ("pipeline",),
    "cli": ("pipeline", "vetting"),
    "api": ("api", "vetting"),
    "attacks": ("attacks", "deepimportance"),
    "comparing": ("versions", "libraries"),
    "criteria": ("criteria", "deepimportance"),
    "data": ("data", "readers", "deepimportance"),
    "differential": ("libraries", "versions", "memo", "findings"),
}
#: Processor seconds of the tests that a fault is tried with, and at most how many they are. The
#: first test that fails ends the trial, so that only faults that survive take as long.
_SECONDS_OF_TESTS, _MOST_TESTS = 30.0, 400
NOT_RUN = "no test that is not slow runs it"
#: Exit codes of pytest that could not run tests; any other than its own is of a process that ended.
UNABLE = (3, 4, 5, FAILED)
#: The least shares of faults that are caught: over all, and in each package.
ALL, EACH = 0.9, 0.8


def main(arguments: Sequence[str] | None = None) -> int:
    """Put faults in, run the tests that may notice, print what they did not."""
    options = _options(arguments)
    root = options.state
    root.mkdir(parents=True, exist_ok=True)
    equivalents = {key_of(e): e["reason"] for e in json.loads(EQUIVALENTS.read_text())}
    packages = options.package or packages_of(ROOT)
    import_libraries()
    copy = Copy(ROOT, root / "copy")
    noting = Copy(ROOT, root / "noting")
    noting.note_functions()
    results = Results(root / "results.jsonl")
    chosen = {p: sample(p, options.sample, options.seed, equivalents) for p in packages}
    caught: Counter[str] = Counter()
    total = sum(len(faults) for faults in chosen.values())
    with tqdm(total=total, desc="faults", unit="fault") as bar:
        for package, faults in chosen.items():
            executed = Executed(noting, package, root)
            for fault in faults:
                bar.set_postfix_str(package)
                outcome = results.of(fault, executed.digest)
                if outcome is None:
                    outcome = _try(copy, fault, executed, options.seconds, root / "trial.log")
                    if outcome["why"] != NOT_RUN:  # which costs nothing to find again
                        results.keep(fault, executed.digest, outcome)
                caught[package] += outcome["outcome"] == "caught"
                if outcome["outcome"] == "survived":
                    bar.write(f"{fault.key}  ({outcome['why']})", sys.stdout)
                bar.update()
    return report(chosen, caught)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--package", action="append", choices=packages_of(ROOT))
    parser.add_argument("--sample", type=int, default=21, help="faults in each package")
    parser.add_argument("--seed", type=int, default=0, help="chooses other faults")
    parser.add_argument("--seconds", type=int, default=120, help="processor time for each fault")
    parser.add_argument("--state", type=Path, default=ROOT / ".mutants", help="what is kept")
    return parser.parse_args(arguments)


def packages_of(root: Path) -> list[str]:
    """The packages of the source, by name."""
    return sorted(p.parent.name for p in (root / "src/asterism").glob("*/__init__.py"))


def key_of(value: dict[str, str]) -> str:
    """A fault's name, from its parts in the list of equivalent ones."""
    return f"{value['file']}:{value['function']}: {value['change']}"


@cache
def all_faults(package: str) -> tuple[Fault, ...]:
    """Every fault that can be put into a package."""
    source = ROOT / "src"
    paths = sorted((source / "asterism" / package).rglob("*.py"))
    files = {path.relative_to(source).as_posix(): path.read_text() for path in paths}
    return tuple(fault for file, text in files.items() for fault in faults_of(text, file))


def sample(package: str, count: int, seed: int, left_out: dict[str, str]) -> list[Fault]:
    """Faults of a package, one of each function before another of the same.

    Names decide, so that the same are chosen when other functions come or change.
    """

    def number(name: str) -> str:
        return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()

    of: dict[str, list[Fault]] = defaultdict(list)
    for fault in all_faults(package):
        of[f"{fault.file}:{fault.function}"].append(fault)
    turns = [
        (turn, number(function), fault)
        for function, faults in of.items()
        for turn, fault in enumerate(sorted(faults, key=lambda f: number(f.key)))
    ]
    ordered = [fault for _, _, fault in sorted(turns, key=lambda t: t[:2])]
    return [fault for fault in ordered if fault.key not in left_out][:count]


class Executed:
    """Which tests run which function of a package; test files are run when they are needed."""

    def __init__(self, noting: Copy, package: str, memory: Path) -> None:
        self._noting, self._memory = noting, memory / "executed"
        self._memory.mkdir(exist_ok=True)
        nearest = NEAREST.get(package, (package,))
        every = {folder for name in packages_of(ROOT) for folder in NEAREST.get(name, (name,))}
        self._files = self._in(nearest)
        self._further = self._in(sorted(every.difference(nearest)))

    def _in(self, folders: Sequence[str]) -> list[Path]:
        tests = self._noting.folder / "tests"
        found = (path for name in folders for path in sorted((tests / name).rglob("test_*.py")))
        return [path.relative_to(self._noting.folder) for path in found]

    @cached_property
    def digest(self) -> str:
        """Of all these tests."""
        files = [(self._noting.folder / file).read_bytes() for file in self._files]
        return hashlib.sha256(b"\0".join(files)).hexdigest()

    def tests(self, fault: Fault) -> list[str]:
        """Tests that run the fault's function, the quick ones first.

        They are the package's own, or those of other packages where none of its own runs it.
        """
        return self._among(self._files, fault) or self._among(self._further, fault)

    def _among(self, files: list[Path], fault: Fault) -> list[str]:
        name = f"{fault.file}:{fault.function}"
        direct: list[tuple[float, str]] = []
        others: list[tuple[float, str]] = []
        for file in tqdm(files, desc="recording", leave=False, delay=5):
            found = executed_by(self._noting, file, self._memory)
            runs = {t: d["seconds"] for t, d in found["tests"].items() if name in d["functions"]}
            direct += [(seconds, test) for test, seconds in runs.items()]
            if runs or name in found["imported"]:
                others += [(d["seconds"], t) for t, d in found["tests"].items() if t not in runs]
        return list(_within(sorted(direct) + sorted(others)))


def _within(tests: list[tuple[float, str]]) -> Iterator[str]:
    spent = 0.0
    for number, (seconds, test) in enumerate(tests):
        spent += seconds
        if number and (spent > _SECONDS_OF_TESTS or number >= _MOST_TESTS):
            return
        yield test


def _try(copy: Copy, fault: Fault, executed: Executed, seconds: int, log: Path) -> dict[str, Any]:
    tests = executed.tests(fault)
    if not tests:
        return {"outcome": "survived", "why": NOT_RUN}
    with copy.with_fault(fault):
        code = run_tests(copy.folder, tests, seconds, log, lambda: [Profile()])
        if code in (4, 5):  # the fault changes what tests there are
            files = sorted({test.partition("::")[0] for test in tests})
            code = run_tests(copy.folder, files, seconds, log, lambda: [Profile()])
    if code in UNABLE:
        raise RuntimeError(f"{fault.key}: the tests could not be run, see {log}")
    if code == 0:
        return {"outcome": "survived", "why": f"{len(tests)} tests"}
    lines = log.read_text(errors="replace").splitlines()
    why = next((li for li in lines if li.startswith(("FAILED", "ERROR"))), f"ended with {code}")
    if code is None:
        why = "no end"
    return {"outcome": "caught", "why": why}


class Results:
    """What came out, kept for the next run as long as the function and its tests are the same."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.is_file() else []
        self._known = {line["key"]: line for line in map(json.loads, lines)}

    def of(self, fault: Fault, tests: str) -> dict[str, Any] | None:
        """What is known of a fault, with tests of this digest."""
        known = self._known.get(fault.key)
        return known if known and known["state"] == _state(fault, known, tests) else None

    def keep(self, fault: Fault, tests: str, outcome: dict[str, Any]) -> None:
        """Note what came out."""
        line = {"key": fault.key, "state": _state(fault, outcome, tests), **outcome}
        self._known[fault.key] = line
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _state(fault: Fault, outcome: dict[str, Any], tests: str) -> str:
    """The function, and where the fault survived the tests too, as one number."""
    parts = [fault.source] if outcome["outcome"] == "caught" else [fault.source, tests]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def report(chosen: dict[str, list[Fault]], caught: Counter[str]) -> int:
    """Print the table; 1 where too many survive."""
    say = sys.stdout.write
    say(f"\n{'package':<16}{'faults':>8}{'caught':>8}{'survived':>10}{'share':>8}\n")
    rows = [(package, len(faults), caught[package]) for package, faults in chosen.items()]
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    for package, faults, found in rows:
        share = found / max(faults, 1)
        say(f"{package:<16}{faults:>8}{found:>8}{faults - found:>10}{share:>8.0%}\n")
    shares = {package: found / max(faults, 1) for package, faults, found in rows}
    return int(shares["all"] < ALL or min(shares.values()) < EACH)


if __name__ == "__main__":
    sys.exit(main())
