"""Experiments beside each other: only what differs between them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.results.experiments import Experiment, experiments
from asterism.results.revision import Committed, Revision, cache_of
from asterism.sweep.workspace import git

#: Metrics that are shown where not all are asked for.
SHOWN = 16

#: Characters of a value, and of a name, that a table has.
_VALUE, _NAME = 16, 60


@dataclass(frozen=True)
class Runs:
    """What differs between experiments.

    Attributes:
        experiments: the commit that they started from first, where they have one in common.
        parameters: values by name; None where an experiment has none.
        metrics: the same, those first that tell most.
        alike: how many parameters and metrics all have in common.
        missing: names of those whose metrics are not in the cache.
    """

    experiments: list[Experiment]
    parameters: dict[str, list[Any]]
    metrics: dict[str, list[Any]]
    alike: tuple[int, int]
    missing: list[str]


def compare_runs(root: Path, *, all_commits: bool = False) -> Runs:
    """The experiments that started from the current commit, or all of them.

    Raises:
        UserError: there are none, or a result cannot be read.
    """
    head = git(root, "rev-parse", "HEAD")
    known = experiments(root)
    chosen = [e for e in known if all_commits or e.baseline == head]
    if not chosen:
        others = f"; {len(known)} started from others: give --all-commits" if known else ""
        raise UserError(
            f"no experiment started from this commit ({head[:7]}){others}: `asterism sweep` and "
            "`dvc exp run` make some"
        )
    if not all_commits:
        made = git(root, "show", "--no-patch", "--format=%cd", "--date=format:%Y-%m-%d %H:%M", head)
        chosen.insert(0, Experiment("HEAD", head, head, made))
    cache = cache_of(root)
    revisions = [Revision(Committed(root, e.name, e.commit, cache)) for e in chosen]
    measured = [bool(revision.metrics) for revision in revisions]
    parameters, same_parameters = differing([r.parameters for r in revisions])
    metrics, same_metrics = differing([r.metrics for r in revisions], measured)
    return Runs(
        chosen,
        parameters,
        {name: metrics[name] for name in _ranked(metrics)},
        (same_parameters, same_metrics),
        [revision.name for revision in revisions if revision.missing()],
    )


def differing(
    tables: Sequence[dict[str, Any]], counted: Sequence[bool] | None = None
) -> tuple[dict[str, list[Any]], int]:
    """What is not the same in all tables, and how many entries are.

    Args:
        tables: values by name; a name that is missing counts as a value of its own.
        counted: which tables are compared; the others' values are listed all the same.
    """
    counted = [True] * len(tables) if counted is None else counted
    names = list(dict.fromkeys(name for table in tables for name in table))
    rows = {name: [table.get(name) for table in tables] for name in names}
    found = {
        name: values
        for name, values in rows.items()
        if len({repr(v) for v, counts in zip(values, counted, strict=True) if counts}) > 1
    }
    return found, len(rows) - len(found)


def _ranked(metrics: dict[str, list[Any]]) -> list[str]:
    from asterism.sweep.table import most_telling_first  # it imports what draws figures

    return most_telling_first(list(metrics))


def dvc_command(runs: Runs, *, all_commits: bool, everything: bool) -> str:
    """The call of ``dvc exp show`` that shows the same columns."""
    words = ["dvc", "exp", "show", "--hide-workspace", "--only-changed"]
    words += ["--all-commits"] if all_commits else []
    if everything or len(runs.metrics) <= SHOWN:
        return shlex.join([*words, "--drop", "[^:]*/[^:]*$"])  # dependencies, which are paths
    keys = [name.partition(":")[2] for name in list(runs.metrics)[:SHOWN]]
    names = [*runs.parameters, *dict.fromkeys(keys)]
    words += ["--drop", "(?!Experiment|Created)"]
    words += ["--keep", f"(.*:)?({'|'.join(map(re.escape, names))})$"]
    return shlex.join(words)


def as_json(runs: Runs, command: str) -> dict[str, Any]:
    """What a program reads: each experiment with its values of all that differs."""
    listed = [
        {
            "name": experiment.name,
            "commit": experiment.commit,
            "baseline": experiment.baseline,
            "made": experiment.made,
            "parameters": {name: values[n] for name, values in runs.parameters.items()},
            "metrics": {name: values[n] for name, values in runs.metrics.items()},
        }
        for n, experiment in enumerate(runs.experiments)
    ]
    parameters, metrics = runs.alike
    return {
        "experiments": listed,
        "alike": {"parameters": parameters, "metrics": metrics},
        "missing": runs.missing,
        "dvc": command,
    }


def as_text(runs: Runs, command: str, *, everything: bool, width: int) -> list[str]:
    """Lines for people read: the experiments with numbers, and a column of values for each number.

    Args:
        runs: what differs.
        command: see :func:`dvc_command`.
        everything: whether all metrics are shown.
        width: characters of a line.
    """
    metrics = list(runs.metrics) if everything else list(runs.metrics)[:SHOWN]
    lines = []
    for number, one in enumerate(runs.experiments, 1):
        lines.append(f"{number:>3}  {one.name}  ({one.made}, {one.commit[:7]})")
    rows = runs.parameters | {name: runs.metrics[name] for name in metrics}
    kinds = {"parameters": list(runs.parameters), "metrics": metrics}
    for kind, names in kinds.items():
        shown = {name: [spoken(value) for value in rows[name]] for name in names}
        lines += ["", *_blocks(kind, shown, len(runs.experiments), width)]
    lines.append("")
    left = len(runs.metrics) - len(metrics)
    if left:
        lines.append(f"{left} more metrics differ: --all shows them")
    same_parameters, same_metrics = runs.alike
    lines.append(f"{same_parameters} parameters and {same_metrics} metrics are the same in all")
    if runs.missing:
        listed = ", ".join(runs.missing[:3]) + (", …" if len(runs.missing) > 3 else "")
        lines.append(f"not all metrics are in the cache of: {listed}; `asterism pull` fetches them")
    return [*lines, f"the same by DVC: {command}"]


def _blocks(kind: str, rows: dict[str, list[str]], count: int, width: int) -> list[str]:
    """Rows of values in blocks of as many columns as fit into a line."""
    if not rows:
        return [f"{kind}: none differs"]
    first = min(max(len(kind), *map(len, rows)), _NAME)
    wide = max(len(cell) for cells in rows.values() for cell in cells)
    at_once = max(1, (width - first) // (wide + 2))
    lines = []
    for start in range(0, count, at_once):
        chosen = range(start, min(start + at_once, count))
        head = "".join(f"  {number + 1:>{wide}}" for number in chosen)
        lines.append(f"{kind:{first}}{head}")
        for name, cells in rows.items():
            short = name if len(name) <= first else f"…{name[-first + 1 :]}"
            lines.append(f"{short:{first}}" + "".join(f"  {cells[n]:>{wide}}" for n in chosen))
    return lines


def spoken(value: Any) -> str:
    """A value in few letters, of long ones the end; a dash for one that is missing."""
    if value is None:
        return "–"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _VALUE else f"…{text[1 - _VALUE :]}"
