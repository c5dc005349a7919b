"""Writing a folder for each unique finding: script, ``report.md`` and the minimal model."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import write_json
from asterism.differential.adapters.backends import library_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.oracle.finding import ODD_REFERENCE, Finding
from asterism.differential.oracle.outside import expected_outside
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
from asterism.differential.triage.reproduction import Reproduction
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


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager. :meth:`start` is called from triage, :meth:`finish` after it.

    Args:
        show: asks whether a model shows a finding.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: by a part of the signature.
        replayer: of findings that no script confirms; None where none is replayed.
    """

    def __init__(
        self,
        show: Reproduction,
        stored: Stored,
        target: Path,
        known_issues: dict[str, KnownIssue],
        replayer: Replayer | None = None,
    ) -> None:
        self._show, self._stored = show, stored
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
        scripts = self._scripts(found, folder)
        next(scripts)
        ended = self._pool.submit(_confirmed, found.finding, folder)
        self._started[found.signature] = scripts, ended

    def _scripts(self, found: UniqueFinding, folder: Path) -> Iterator[str]:
        write_json(folder / GRAPH, found.graph.to_json())
        return ScriptWriter(found, self._show, self._stored).write(folder)

    def finish(self, found: UniqueFinding) -> UniqueFinding:
        """Find a script that shows a finding that was started, and write its report.

        Where a script does not show it, the next longer one is written and run in its place. What
        none of them shows is replayed, and may get another model by that. What no script shows, and
        known limits, get into folders of their own.
        """
        name = folder_name(found)
        folder = self._target / name
        scripts, started = self._started.pop(found.signature)
        found.confirmed = started.result()
        found.confirmed = _ended(found, folder, scripts)
        issue = issue_of(self._known_issues, found.signature, found.finding.distributions)
        found.known, found.limit = (issue.link, issue.limit) if issue is not None else ("", "")
        replay = None
        if self._replayer is not None and not (found.reproduced or found.limit):
            replay = self._replayer.replay(found)
            write_json(folder / HISTORY, _history(found.finding, replay))
            other = replay.found
            if other is not None and (other.graph != found.graph or other.before):
                found = other
                found.confirmed = _ended(found, folder, self._scripts(found, folder))
        content = None if found.changed else self._show.worker_pool.saved(found.graph)
        if content is not None:
            (folder / MODEL).write_bytes(content)
        apart = LIMITS if found.limit else "" if found.reproduced else NOT_REPRODUCED
        found.folder = f"{apart}/{name}" if apart else name
        text = report_text(found, folder, replay)
        (folder / REPORT).write_text(text, encoding="utf-8", errors="replace")
        if apart:
            (self._target / apart).mkdir(exist_ok=True)
            folder.rename(self._target / apart / name)
        return found


def _ended(found: UniqueFinding, folder: Path, scripts: Iterator[str]) -> tuple[int, ...]:
    """How the first script ends that shows a finding, or the last one of those left."""
    ended = found.confirmed
    while not all(status == 1 for status in ended) and next(scripts, None) is not None:
        ended = _confirmed(found.finding, folder)
    return ended


def _history(finding: Finding, replay: Replay) -> dict[str, Any]:
    """What had run before a finding, and what became of its replays, as a JSON value."""
    ran = [
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
    return {"worker": library_of(finding.backends[0]), "ran": ran, "replays": replay.tried}


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def _confirmed(finding: Finding, folder: Path) -> tuple[int, ...]:
    """How fresh processes end that run the script, by the Python of the library's environment."""
    python = interpreter_of(own_environment(finding) or "")
    return exit_statuses(folder / REPRO, CONFIRMATIONS, python, death_of(finding))


def report_text(found: UniqueFinding, folder: Path, replay: Replay | None = None) -> str:
    """The report of a finding, in the shape that the libraries' bug templates ask for."""
    finding, library = found.finding, own_environment(found.finding)
    return rendered(
        f"{REPORT}.j2",
        found=found,
        finding=finding,
        where=str(found.layer or finding.exception),
        has_model=(folder / MODEL).exists(),
        script=(folder / REPRO).read_text(encoding="utf-8"),
        longest=LONGEST,
        outside=expected_outside(finding) if finding.distributions == (OUTSIDE,) else "",
        odd_reference=ODD_REFERENCE,
        message=textwrap.fill(finding.message, 100, break_long_words=False, break_on_hyphens=False),
        replay=replay,
        worker=library_of(finding.backends[0]),
        history=HISTORY,
        environment=library,
        packages_there=packages_of(library) if library is not None else "",
        packages=installed_versions(),
    )
