"""Triage of findings, and a folder with script, report and model for each unique one."""

from __future__ import annotations

import hashlib
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import get_logger
from asterism.differential.adapters.backend_names import converter_of, library_of
from asterism.differential.adapters.environments import installed_versions, interpreter_of
from asterism.differential.engine.execution import open_worker_pool
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import KERAS, ODD_REFERENCE, Finding, signature
from asterism.differential.oracle.outside import expected_outside
from asterism.differential.report.confirming import death_of, exit_statuses
from asterism.differential.report.known_issues import KnownIssue, issue_of, read_known_issues
from asterism.differential.report.markdown import rendered
from asterism.differential.report.script_writer import (
    REPRO,
    ScriptWriter,
    own_environment,
    packages_of,
)
from asterism.differential.triage.budget import Ceiling
from asterism.differential.triage.groups import unique_outside
from asterism.differential.triage.params import TriageSettings
from asterism.differential.triage.remembering import ShrunkFindings
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.triage import Triage, UntriagedFindings
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import read_weights
from asterism.memo.graphs.weights import Stored

log = get_logger(__name__)

#: The minimal model: its graph, and a file of Keras' own.
GRAPH, MODEL = "model.json", "model.keras"

#: The report.
REPORT = "report.md"

#: Folders of findings that stand apart.
LIMITS, NOT_REPRODUCED = "known-limits", "not-reproduced"

#: Fresh processes that a reproducer is run in.
CONFIRMATIONS = 3

#: Characters of a script that a report can hold: issue trackers take 65,536 in all.
LONGEST = 50_000

#: The list of findings, and the one of those that were not taken up, with what was wanting.
UNIQUE, LEFT = "unique.json", "left.json"
#: The folder of those just outside of what is valid, below that of all findings.
OUTSIDE_FOLDER = "outside"


@dataclass(frozen=True)
class FindingsToTriage:
    """What the oracle found, and what is known of it already.

    Args:
        findings: of all models, in their order.
        graphs: the models.
        weights: file of the arrays that nodes may name.
        apart: findings that stand apart; of those just outside of what is valid scripts are
            written.
        earlier: unique findings of earlier runs, which are passed over.
        outside_known: signatures of those just outside of what is valid, likewise.
    """

    findings: Sequence[Finding]
    graphs: Sequence[Graph]
    weights: Path
    apart: Sequence[Finding] = ()
    earlier: Sequence[UniqueFinding] = ()
    outside_known: Collection[str] = ()


def triage_and_write(
    given: FindingsToTriage,
    settings: TriageSettings,
    target: Path,
    memory: ShrunkFindings | None = None,
    worker_pool: WorkerPool | None = None,
) -> dict[str, Any]:
    """Shrink and de-duplicate findings, and write ``unique.json`` and a folder for each.

    Args:
        given: the findings.
        settings: backends, limits, tolerances and budgets.
        target: the folder, which is replaced as a whole.
        memory: what earlier runs have shrunk, which this one goes on from.
        worker_pool: workers, which are started where there are findings; None: its own.

    Returns:
        Counts, as a JSON value.
    """
    with ExitStack() as using:
        folder = using.enter_context(replacing(target))
        folder.mkdir()
        if worker_pool is None:
            worker_pool = open_worker_pool(settings.execute, given.weights)
            using.enter_context(worker_pool)
        return _write(worker_pool, given, settings, folder, memory)


def _write(
    worker_pool: WorkerPool,
    given: FindingsToTriage,
    settings: TriageSettings,
    folder: Path,
    memory: ShrunkFindings | None,
) -> dict[str, Any]:
    """As :func:`triage_and_write`, into an empty folder."""
    triage, graphs = settings.triage, given.graphs
    show = Reproduction(worker_pool, settings.judge, settings.seed, triage.hang_seconds)
    known = read_known_issues(triage.known_issues)
    stored = read_weights(given.weights)
    if given.findings:
        worker_pool.start()
    ceiling = Ceiling(triage.minutes)
    with Reporter(show, stored, folder, known) as reporter:
        kinds, steps = settings.execute.distributions, Triage(show, triage, memory, ceiling)
        shrunk, left = steps.run(given.findings, graphs, kinds, reporter.start, given.earlier)
        unique = write_reports(reporter, shrunk, folder)
    write_json(folder / LEFT, [_left(group, left) for group in left.groups])
    stopped = sum(found.out_of_time for found in unique)
    groups_left = len(left.groups) if left.out_of_time else 0
    if stopped or groups_left:
        told = f"stopped by triage.minutes={triage.minutes:g}: the next run goes on"
        log.warning(told, not_minimal=stopped, groups_left=groups_left)
    unique_apart = unique_outside(
        given.apart, graphs, settings.seed, triage.max_unique, given.outside_known
    )
    outside: list[UniqueFinding] = []
    if unique_apart:
        worker_pool.start()
        place = folder / OUTSIDE_FOLDER
        place.mkdir()
        with Reporter(show, stored, place, known) as reporter:
            for found in unique_apart:
                reporter.start(found)
            outside = write_reports(reporter, unique_apart, place)
    return {
        "outside": len(outside),
        "outside_reproduced_in_three_processes": sum(r.reproduced for r in outside),
        "findings": len(given.findings),
        "unique": len(unique),
        "reproduced_in_three_processes": sum(r.reproduced for r in unique),
        "known": sum(bool(r.known) for r in unique),
        "known_limits": sum(bool(r.limit) for r in unique),
        "not_reproduced": sum(not r.limit and not r.reproduced for r in unique),
        "groups_left_by_budget": len(left.groups),
        "groups_left_by_time": groups_left,
        "not_minimal": sum(bool(u.unfinished) for u in unique),
        "not_minimal_by_time": stopped,
        "largest_model": max((len(u.graph.layers) for u in unique), default=0),
        **counts_of([u.finding for u in unique], settings.execute.backends),
    }


def write_reports(
    reporter: Reporter, unique: Sequence[UniqueFinding], folder: Path
) -> list[UniqueFinding]:
    """Write the reports of findings that were started, and their list.

    What its worker had run before is listed of a finding that no script shows.
    """
    finished = [reporter.finish(found) for found in unique]
    listed = []
    for found in finished:
        kept = replace(found.finding, before=()) if found.reproduced else found.finding
        listed.append({**found.to_json(), "finding": kept.to_json()})
    write_json(folder / UNIQUE, listed)
    return finished


def _left(group: Sequence[Finding], left: UntriagedFindings) -> dict[str, Any]:
    """A group that was not taken up, as a JSON value."""
    first = group[0]
    return {
        "signature": signature(first),
        "severity": first.severity,
        "backends": list(first.backends),
        "models": sorted({finding.model for finding in group}),
        "left_by": left.because,
    }


def counts_of(findings: Sequence[Finding], backends: Iterable[str]) -> dict[str, Any]:
    """How many findings each library and converter is to blame for, and how many show a symptom.

    The MEMO paper's table 3 has the former.

    Args:
        findings: unique ones.
        backends: where models were run; their libraries and converters count 0 where none is found.
    """
    backends = list(backends)
    tested = {KERAS, *map(library_of, backends)}
    tested |= {name for name in map(converter_of, backends) if name is not None}
    blamed = Counter(finding.library for finding in findings)
    symptoms = Counter(finding.symptom for finding in findings)
    return {
        "by_library": {name: blamed[name] for name in sorted(tested | blamed.keys())},
        "by_symptom": dict(sorted(symptoms.items())),
    }


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager. :meth:`start` is called from triage, :meth:`finish` after it.

    Args:
        show: asks whether a model shows a finding.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: by a part of the signature.
    """

    def __init__(
        self,
        show: Reproduction,
        stored: Stored,
        target: Path,
        known_issues: dict[str, KnownIssue],
    ) -> None:
        self._show, self._stored = show, stored
        self._target = target
        self._known_issues = known_issues
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
        scripts = ScriptWriter(found, self._show, self._stored).write(folder)
        next(scripts)
        ended = self._pool.submit(_confirmed, found.finding, folder)
        self._started[found.signature] = scripts, ended

    def finish(self, found: UniqueFinding) -> UniqueFinding:
        """Find a script that shows a finding that was started, and write its report.

        Where a script does not show it, the next longer one is written and run in its place. What
        no script shows, and known limits, get into folders of their own.
        """
        name = folder_name(found)
        folder = self._target / name
        scripts, started = self._started.pop(found.signature)
        found.confirmed = started.result()
        while not found.reproduced and next(scripts, None) is not None:
            found.confirmed = _confirmed(found.finding, folder)
        issue = issue_of(self._known_issues, found.signature, found.finding.distributions)
        found.known, found.limit = (issue.link, issue.limit) if issue is not None else ("", "")
        content = None if found.changed else self._show.worker_pool.saved(found.graph)
        if content is not None:
            (folder / MODEL).write_bytes(content)
        apart = LIMITS if found.limit else "" if found.reproduced else NOT_REPRODUCED
        found.folder = f"{apart}/{name}" if apart else name
        text = report_text(found, folder)
        (folder / REPORT).write_text(text, encoding="utf-8", errors="replace")
        if apart:
            (self._target / apart).mkdir(exist_ok=True)
            folder.rename(self._target / apart / name)
        return found


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def _confirmed(finding: Finding, folder: Path) -> tuple[int, ...]:
    """How fresh processes end that run the script, by the Python of the library's environment."""
    python = interpreter_of(own_environment(finding) or "")
    return exit_statuses(folder / REPRO, CONFIRMATIONS, python, death_of(finding))


def report_text(found: UniqueFinding, folder: Path) -> str:
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
        worker=library_of(finding.backends[0]),
        environment=library,
        packages_there=packages_of(library) if library is not None else "",
        packages=installed_versions(),
    )
