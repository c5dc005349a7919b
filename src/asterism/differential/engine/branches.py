"""Branches of the libraries' own Python code that models reach: a reward, and a measure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: Packages whose Python code models drive. What is compiled has no branches that Python sees.
PACKAGES = ("keras", "tf2onnx", "onnx2torch", "onnx2pytorch")

#: Environment variable that makes workers measure.
SWITCH = "ASTERISM_BRANCHES"


class BranchMeter:
    """Measures which branches this process reaches from now on.

    Args:
        packages: those whose code counts; the ones that are not installed have none.
    """

    def __init__(self, packages: Iterable[str] = PACKAGES) -> None:
        import coverage

        folders = [Path(f) for p in packages if (f := _folder(p)) is not None]
        self._root = {str(f): f.parent for f in folders}
        self._exits: dict[str, dict[int, int]] = {}
        self._seen: set[str] = set()
        self._coverage = coverage.Coverage(
            branch=True, data_file=None, config_file=False, include=[f"{f}/*" for f in folders]
        )
        self._coverage.start()

    def news(self) -> dict[str, Any]:
        """The branches that were reached since the last call.

        Returns:
            ``branches``: ``file:from:to``, each once; ``exits``: by file that was entered for
            the first time, how many branches it has.
        """
        data = self._coverage.get_data()
        branches: list[str] = []
        entered: dict[str, int] = {}
        for file in sorted(data.measured_files()):
            name = self._name(file)
            if file not in self._exits:
                stats = self._coverage.branch_stats(file)
                self._exits[file] = {line: total for line, (total, _) in stats.items()}
                entered[name] = sum(self._exits[file].values())
            lines = self._exits[file]
            reached = {f"{name}:{a}:{b}" for a, b in data.arcs(file) or () if a in lines}
            branches += sorted(reached - self._seen)
            self._seen |= reached
        return {"branches": branches, "exits": entered}

    def _name(self, file: str) -> str:
        """The file, from its package's name on."""
        root = next(root for folder, root in self._root.items() if file.startswith(folder))
        return Path(file).relative_to(root).as_posix()


def branch_table(learnt: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """A table of branch coverage: module, branches reached, and all in the files entered.

    A module is a package's part of two levels: ``keras/src/layers``, ``tf2onnx/rewriter``.

    Args:
        learnt: by each reward, as :meth:`BranchMeter.news` has it; what several have learnt counts
            once.
    """
    reached: dict[str, set[str]] = defaultdict(set)
    exits: dict[str, int] = {}
    for one in learnt:
        for branch in one["branches"]:
            reached[_module(branch.partition(":")[0])].add(branch)
        exits.update(one["exits"])
    whole: Counter[str] = Counter()
    for file, count in exits.items():
        whole[_module(file)] += count
    names = sorted(name for name, count in whole.items() if count)
    return {
        "module": names,
        "reached": [len(reached[name]) for name in names],
        "branches": [whole[name] for name in names],
    }


def _module(file: str) -> str:
    depth = 3 if file.startswith("keras/src/") else 2
    return "/".join(file.split("/")[:-1][:depth])


def _folder(package: str) -> str | None:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return next(iter(places), None) if places is not None else None
