"""Small faults in the source, one at a time, by mutmut: how many do the tests notice?

    python tests/mutants.py [--package images]... [--files 2] [--seed 0]

Some files of each package are drawn, and mutmut puts every fault that it knows into each of their
functions. The package's tests run on each fault, as far as they call the function. What nothing
notices is printed with its change. `make mutants` runs it where mutmut is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Tests of a package that do not lie in the folder of its name.
NEAREST = {
    "api": ("vetting/test_torch_in_python.py", "vetting/test_vet_in_python.py"),
    "cli": ("pipeline/test_command_line.py", "pipeline/test_open.py"),
    "criteria": ("criteria", "deepimportance"),
    "dvc_hydra": (
        *("pipeline/test_cache_rules.py", "pipeline/test_lockfile.py"),
        *("pipeline/test_private_notes.py", "pipeline/test_repository.py"),
    ),
    "search": ("search", "dflare"),
    "sweep": (
        *("pipeline/test_points.py", "pipeline/test_running_sweeps.py"),
        *("pipeline/test_resources.py", "pipeline/test_order.py"),
    ),
}
#: The least shares of faults that are noticed: over all, and in each package.
ALL, EACH = 0.9, 0.8
#: Exit statuses of a fault's tests: none failed, or there are none.
SURVIVED = (0, 5, 33)
#: What only tells a person something is no behaviour: lines like these have no faults.
TELLING = (r"\braise ", r"\blog\.", r"\bsay\(", r"__all__")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the packages, and print a table; 1 where too many faults survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--package", action="append", choices=packages(), help="only this one")
    parser.add_argument("--files", type=int, default=2, help="of each package")
    parser.add_argument("--seed", type=int, default=0, help="another draws other files")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    options = parser.parse_args(arguments)
    found = {}
    for package in options.package or packages():
        folder = options.folder / package
        files = drawn(package, options.files, options.seed)
        copy_project(folder)
        configure(folder, package, files)
        subprocess.run(
            [sys.executable, "-m", "mutmut", "run"], cwd=folder, env=_quiet(), check=False
        )
        found[package] = outcomes(folder)
        tell_survivors(folder, found[package])
    return tell(found)


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


def packages() -> list[str]:
    """The packages of the source, by name."""
    return sorted(path.parent.name for path in (ROOT / "src/asterism").glob("*/__init__.py"))


def drawn(package: str, count: int, seed: int) -> list[str]:
    """Files of a package, chosen by their names, so that they stay when others come."""
    source = ROOT / "src/asterism" / package
    files = [
        f.relative_to(ROOT).as_posix() for f in source.rglob("*.py") if "def " in f.read_text()
    ]
    return sorted(files, key=lambda f: hashlib.sha256(f"{seed} {f}".encode()).hexdigest())[:count]


def copy_project(folder: Path) -> None:
    """The tracked files of the project, as they are now, but for the collection of findings."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("findings/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def configure(folder: Path, package: str, files: Sequence[str]) -> None:
    """Tell mutmut which files get faults, and which tests run on them."""
    tests = [f"tests/{name}" for name in NEAREST.get(package, (package,))]
    settings = {
        "source_paths": ["src"],
        "only_mutate": list(files),
        "do_not_mutate_patterns": list(TELLING),
        "also_copy": sorted(p.name for p in folder.iterdir() if p.name not in ("src", "tests")),
        "process_isolation": "forkserver",  # TensorFlow's threads do not survive a fork
        "pytest_add_cli_args": ["-x", "-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": [t for t in tests if (folder / t).exists()],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def _quiet() -> dict[str, str]:
    return os.environ | {"CI": "1", "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}


def outcomes(folder: Path) -> dict[str, bool]:
    """Whether each fault was noticed, by mutmut's name of it."""
    found: dict[str, bool] = {}
    for path in sorted((folder / "mutants/src").rglob("*.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        found |= {name: code not in SURVIVED for name, code in codes.items() if code is not None}
    return found


def tell_survivors(folder: Path, found: dict[str, bool]) -> None:
    """Print the change of each fault that nothing noticed."""
    for name in (name for name, noticed in found.items() if not noticed):
        shown = subprocess.run(
            [sys.executable, "-m", "mutmut", "show", name],
            cwd=folder, capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        changed = [line for line in shown.splitlines() if line[:1] in "+-" and line[1:2] == " "]
        sys.stdout.write("\n".join([name, *changed, ""]))


def tell(found: dict[str, dict[str, bool]]) -> int:
    """Print the table; 1 where too many survive."""
    rows = {package: (len(faults), sum(faults.values())) for package, faults in found.items()}
    rows["all"] = tuple(map(sum, zip(*rows.values(), strict=True)))  # type: ignore[assignment]
    sys.stdout.write(f"\n{'package':<16}{'faults':>8}{'noticed':>9}{'share':>8}\n")
    for package, (faults, noticed) in rows.items():
        sys.stdout.write(f"{package:<16}{faults:>8}{noticed:>9}{noticed / max(faults, 1):>8.0%}\n")
    shares = {package: noticed / faults for package, (faults, noticed) in rows.items() if faults}
    return int(shares.get("all", 0) < ALL or min(shares.values(), default=0) < EACH)


if __name__ == "__main__":
    sys.exit(main())
