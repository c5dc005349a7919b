"""What a worker had run before a finding that its script alone does not show: section and file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.differential.engine.tasks import Task
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.history import worker_for
from asterism.differential.report.markdown import cell, shown
from asterism.differential.triage.replay import Replay
from asterism.memo.graphs.graph import Graph

#: Beside a report: the models that ran before, with their kinds of inputs.
HISTORY = "history.json"


def write_history(finding: Finding, replay: Replay, folder: Path) -> None:
    """Write the models that the worker had run before, and how the replays ended."""
    runs = [
        {
            "model": task.index,
            "distributions": list(task.inputs),
            "backends": list(task.backends or ()),
            "changed": task.changed,
            "graph": task.graph.to_json(),
        }
        for task in replay.ran
        if isinstance(task.graph, Graph)
    ]
    worker = worker_for(finding.backends[0])
    write_json(folder / HISTORY, {"worker": worker, "ran": runs, "replays": replay.tried})


def section(finding: Finding, replay: Replay) -> str:
    """The part of a report that says what ran before, and what fresh workers then showed."""
    worker = worker_for(finding.backends[0])
    tried = "\n".join(f"| {cell(what)} | {cell(how)} |" for what, how in replay.tried.items())
    ran = "\n".join(_row(task) for task in replay.ran)
    return f"""
## What ran before

The worker of {shown(worker)} had run the models at the end of this section, the latest last. \
`{HISTORY}`
holds them. The finding ended with {shown(finding.exception or "no exception")}.

| replayed in a fresh worker | the finding |
|---|---|
{tried}

{_needed(replay.before)}
| model | inputs | backends | layers |
|---|---|---|---|
{ran}
"""


def _needed(before: Sequence[Task]) -> str:
    if not before:
        return ""
    return f"It takes {len(before)} of them, perhaps made smaller: the script runs that first.\n"


def _row(task: Task) -> str:
    assert isinstance(task.graph, Graph)
    layers = ", ".join(task.graph.nodes[i].type for i in task.graph.layers)
    cells = (str(task.index), ", ".join(task.inputs), ", ".join(task.backends or ()), layers)
    return f"| {' | '.join(map(cell, cells))} |"
