"""``python tests/pipeline/dependencies.py``: the code that each stage declares, and reaches.

A change in what a stage declares in ``dvc.yaml`` makes DVC run the stage again. What the stage
reaches is its script and all modules that this imports, directly or through others. So declared
lines that are not reached are reruns for nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Set
from functools import cache
from pathlib import Path

import yaml
from imports import ROOT, packages_used_by, used_by

PIPELINE = ROOT / "dvc.yaml"

#: At most so many lines are declared for each that is reached: over all stages, and in each.
ALL, EACH = 1.3, 1.8


@cache
def stages() -> dict[str, set[str]]:
    """The code dependencies that ``dvc.yaml`` declares, by stage."""
    listed = yaml.safe_load(PIPELINE.read_text(encoding="utf-8"))["stages"]
    deps = {name: facts.get("do", facts)["deps"] for name, facts in listed.items()}
    code = ("src/", "stages/")
    return {name: {d for d in deps[name] if d.startswith(code)} for name in deps}


def script(stage: str) -> Path:
    """The stage's script."""
    return ROOT / "stages" / f"{stage}.py"


def declared(stage: str) -> set[Path]:
    """All source files below what a stage declares."""
    paths = [ROOT / path for path in stages()[stage]]
    return {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}


def reached(stage: str) -> frozenset[Path]:
    """A stage's script and all modules of Asterism that it imports, to the end."""
    return used_by(script(stage)) | {script(stage)}


def lines(files: Set[Path]) -> int:
    """Lines of source files."""
    return sum(map(_lines_of, files))


@cache
def _lines_of(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def table() -> list[tuple[str, int, int]]:
    """Declared and reached lines of each stage, and of all together."""
    rows = [(stage, lines(declared(stage)), lines(reached(stage))) for stage in sorted(stages())]
    return [*rows, ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))]


def reruns() -> list[tuple[str, list[str]]]:
    """For each package the stages that a change in it reruns by itself."""
    users: dict[str, list[str]] = {}
    for stage, packages in sorted(stages().items()):
        for package in packages:
            users.setdefault(package, []).append(stage)
    packages = sorted((p, users[p]) for p in users if p.startswith("src/"))
    return [(p.removeprefix("src/asterism/"), names) for p, names in packages]


def reruns_table() -> str:
    """:func:`reruns` as a table in Markdown."""
    every = len(stages())
    rows = ["| a change in | reruns |", "|---|---|"]
    for package, names in reruns():
        left = sorted(set(stages()) - set(names))
        told = ", ".join(f"`{name}`" for name in names)
        if not left:
            told = f"all {every}"
        elif len(left) < 5:
            told = "all but " + ", ".join(f"`{name}`" for name in left)
        rows.append(f"| `{package}` | {told} |")
    return "\n".join(rows) + "\n"


def write() -> None:
    """Declare for each stage in ``dvc.yaml`` exactly the packages that its script uses."""
    found, stage, done = [], "", False
    for line in PIPELINE.read_text(encoding="utf-8").splitlines():
        if named := re.fullmatch(r"  (\w+):", line):
            stage, done = named[1], False
        if not re.fullmatch(r" +- src/asterism\S*", line):
            found.append(line)
        elif not done:
            dash = line[: line.index("src/")]
            found += [dash + package for package in sorted(packages_used_by(script(stage)))]
            done = True
    PIPELINE.write_text("\n".join(found) + "\n", encoding="utf-8")


def main() -> int:
    """Print the tables; 1 where a stage declares too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write dvc.yaml's dependencies first")
    parser.add_argument("--reruns", action="store_true", help="which stages a package reruns")
    options = parser.parse_args()
    if options.write:
        write()
    if options.reruns:
        print(reruns_table(), end="")
        return 0
    print(f"{'stage':24}{'declared':>10}{'reached':>10}{'ratio':>8}   (lines of source)")
    shares = {}
    for stage, wide, used in table():
        shares[stage] = wide / used
        print(f"{stage:24}{wide:>10,}{used:>10,}{shares[stage]:>8.2f}")
    return int(shares.pop("all") > ALL or max(shares.values()) > EACH)


if __name__ == "__main__":
    sys.exit(main())
