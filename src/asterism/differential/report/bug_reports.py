"""Writing a folder for each unique finding: script, ``report.md`` and the minimal model."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import write_json
from asterism.differential.adapters.backends import library_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import ODD_REFERENCE, Finding
from asterism.differential.oracle.outside import expected_outside
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.confirming import death_of, exit_statuses
from asterism.differential.report.known_issues import KnownIssue, issue_of
from asterism.differential.report.markdown import rendered
from asterism.differential.report.script_writer import (
    REPRO,
    ScriptWriter,
    own_environment,
    packages_of,
)
from asterism.differential.triage.replay import Replay, Replayer
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.weights import Stored

#: The minimal model: its graph, and a file of Keras' own.
GRAPH, MODEL = "model.json", "model.keras"

#: The report, and the models that had run before where the script alone does not show a finding.
REPORT, HISTORY = "report.md", "history.json"

#: Folders of findings that stand apart.
LIMITS, NOT_REPRODUCED = "known-limits", "not-reproduced"

#: Fresh processes that a reproducer is run in.
CONFIRMATIONS = 3

#: Characters of a script that a report can hold: issue trackers take 65,536 in all.
LONGEST = 50_000


@dataclass(frozen=True)
class Report:
    """What was written about one unique finding.

    Args:
        folder: where, below the folder of all findings.
        signature: the finding's.
        confirmed: how the processes of its script ended.
        known: a link to an issue or a page; empty where there is none.
        limit: what the library is documented not to do; empty where it is no known limit.
    """

    folder: str
    signature: str
    confirmed: tuple[int, ...]
    known: str
    limit: str = ""

    @property
    def reproduced(self) -> bool:
        """Whether every fresh process showed it."""
        return _shows(self.confirmed)

    def to_json(self, found: UniqueFinding) -> dict[str, Any]:
        """What the list of unique findings says about this one."""
        return {
            "folder": self.folder,
            "confirmed": list(self.confirmed),
            "known": self.known,
            "limit": self.limit,
            **found.to_json(),
            "layers": len(found.graph.layers),
            "minimality": found.minimality,
            "finding": (
                replace(found.finding, before=()) if self.reproduced else found.finding
            ).to_json(),
            "changed": found.changed,
        }


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager. :meth:`start` is called from triage, :meth:`finish` after it.

    Args:
        worker_pool: started workers.
        judging: tolerances.
        seed: of the inputs.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: by a part of the signature.
        replayer: of findings that no script confirms; None where none is replayed.
    """

    def __init__(
        self,
        worker_pool: WorkerPool,
        judging: JudgeParams,
        seed: int,
        stored: Stored,
        target: Path,
        known_issues: dict[str, KnownIssue],
        replayer: Replayer | None = None,
    ) -> None:
        self._worker_pool = worker_pool
        self._settings = worker_pool, judging, seed, stored
        self._target = target
        self._known_issues = known_issues
        self._replayer = replayer
        # One at a time: the processes of a script load libraries anew, beside the workers.
        self._pool = ThreadPoolExecutor(1)
        self._started: dict[str, tuple[Iterator[str], Future[tuple[int, ...]]]] = {}

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, found: UniqueFinding) -> None:
        """Write the model and the first script, and run it in fresh processes meanwhile."""
        folder = self._target / folder_name(found)
        write_json(folder / GRAPH, found.graph.to_json())
        scripts = ScriptWriter(found, *self._settings).write(folder)
        next(scripts)
        self._started[found.signature] = (
            scripts,
            self._pool.submit(_confirmed, found.finding, folder),
        )

    def finish(self, found: UniqueFinding) -> Report:
        """Find a script that shows a finding that was started, and write its report.

        Where a script does not show it, the next longer one is written and run in its place. What
        none of them shows is replayed, and may get another model by that. What no script shows, and
        known limits, get into folders of their own.
        """
        name, signature = folder_name(found), found.signature
        folder = self._target / name
        scripts, started = self._started.pop(signature)
        confirmed = _ended(found.finding, folder, scripts, started.result())
        issue = issue_of(self._known_issues, signature, found.finding.distributions)
        known, limit = (issue.link, issue.limit) if issue is not None else ("", "")
        replay = None
        if self._replayer is not None and not (_shows(confirmed) or limit):
            replay = self._replayer.replay(found)
            confirmed = self._replayed(found, replay, folder, confirmed)
        content = None if found.changed else self._worker_pool.saved(found.graph)
        if content is not None:
            (folder / MODEL).write_bytes(content)
        apart = LIMITS if limit else "" if _shows(confirmed) else NOT_REPRODUCED
        report = Report(f"{apart}/{name}" if apart else name, signature, confirmed, known, limit)
        text = report_text(found, report, folder, replay)
        (folder / REPORT).write_text(text, encoding="utf-8", errors="replace")
        if apart:
            (self._target / apart).mkdir(exist_ok=True)
            folder.rename(self._target / apart / name)
        return report

    def _replayed(
        self, found: UniqueFinding, replay: Replay, folder: Path, before: tuple[int, ...]
    ) -> tuple[int, ...]:
        """How the script ends that a replay leads to; as before where it leads to none."""
        facts = {
            "worker": library_of(found.finding.backends[0]),
            "ran": list(map(_ran, replay.ran)),
            "replays": replay.tried,
        }
        write_json(folder / HISTORY, facts)
        if replay.graph is None or (replay.graph == found.graph and not replay.before):
            return before
        found.graph, found.before = replay.graph, replay.before
        found.unfinished, found.out_of_time = replay.unfinished, replay.out_of_time
        found.ablation = {}  # it was seen in workers that had run other models
        write_json(folder / GRAPH, found.graph.to_json())
        scripts = ScriptWriter(found, *self._settings).write(folder)
        return _ended(found.finding, folder, scripts, before)


def _ended(
    finding: Finding, folder: Path, scripts: Iterator[str], ended: tuple[int, ...]
) -> tuple[int, ...]:
    """How the first script ends that shows a finding, or the last one of those left."""
    while not _shows(ended) and next(scripts, None) is not None:
        ended = _confirmed(finding, folder)
    return ended


def _ran(task: Task) -> dict[str, Any]:
    """A model that ran before, as a JSON value."""
    assert isinstance(task.graph, Graph)
    return {
        "model": task.index,
        "distributions": list(task.inputs),
        "backends": list(task.backends or ()),
        "changed": task.changed,
        "graph": task.graph.to_json(),
    }


def _shows(statuses: tuple[int, ...]) -> bool:
    return all(status == 1 for status in statuses)


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def _confirmed(finding: Finding, folder: Path) -> tuple[int, ...]:
    """How fresh processes end that run the script, by the Python of the library's environment."""
    python = interpreter_of(own_environment(finding) or "")
    return exit_statuses(folder / REPRO, CONFIRMATIONS, python, death_of(finding))


def report_text(
    found: UniqueFinding, report: Report, folder: Path, replay: Replay | None = None
) -> str:
    """The report of a finding, in the shape that the libraries' bug templates ask for."""
    finding, library = found.finding, own_environment(found.finding)
    ran = replay.ran if replay is not None else ()
    return rendered(
        f"{REPORT}.j2",
        found=found,
        finding=finding,
        report=report,
        where=str(found.layer or finding.exception),
        has_model=(folder / MODEL).exists(),
        script=(folder / REPRO).read_text(encoding="utf-8"),
        longest=LONGEST,
        outside=expected_outside(finding) if finding.distributions == (OUTSIDE,) else "",
        odd_reference=ODD_REFERENCE,
        distance=_DISTANCES.get(finding.symptom, "").format(finding.excess),
        message=textwrap.fill(finding.message, 100, break_long_words=False, break_on_hyphens=False),
        replay=replay,
        worker=library_of(finding.backends[0]),
        history=HISTORY,
        ran=[(task, task.graph) for task in ran if isinstance(task.graph, Graph)],
        environment=library,
        packages_there=packages_of(library) if library is not None else "",
        packages=installed_versions(),
    )


#: How far off outputs are, in words.
_DISTANCES = {
    "NaN/Inf mask differs": ": {:.0f} element(s)",
    "values differ": ": {:.3g} times the tolerance",
}
