"""Triage of findings, and a folder with script, report and model for each unique one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import get_logger
from asterism.differential.adapters.backends import converter_of, library_of
from asterism.differential.engine.execution import open_worker_pool
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import KERAS, Finding, signature
from asterism.differential.report.bug_reports import Reporter
from asterism.differential.report.known_issues import read_known_issues
from asterism.differential.triage.budget import Ceiling
from asterism.differential.triage.groups import unique_outside
from asterism.differential.triage.params import TriageSettings
from asterism.differential.triage.remembering import Memory
from asterism.differential.triage.replay import Replayer
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.triage import Left, Triage
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import read_weights

log = get_logger(__name__)

#: The list of findings, and the one of those that were not taken up, with what was wanting.
UNIQUE, LEFT = "unique.json", "left.json"
#: The folder of those just outside of what is valid, below that of all findings.
OUTSIDE_FOLDER = "outside"


@dataclass(frozen=True)
class ToTriage:
    """What the oracle found, and what is known already.

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
    given: ToTriage,
    settings: TriageSettings,
    target: Path,
    memory: Memory | None = None,
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
    given: ToTriage,
    settings: TriageSettings,
    folder: Path,
    memory: Memory | None,
) -> dict[str, Any]:
    """As :func:`triage_and_write`, into an empty folder."""
    triage, graphs = settings.triage, given.graphs
    show = Reproduction(worker_pool, settings.judge, settings.seed, triage.hang_seconds)
    known = read_known_issues(triage.known_issues)
    stored = read_weights(given.weights)
    if given.findings:
        worker_pool.start()
    ceiling = Ceiling(triage.minutes)
    replayer = Replayer(show, graphs, triage.replays, ceiling) if triage.replays else None
    with Reporter(show, stored, folder, known, replayer) as reporter:
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
        "after_other_models": sum(bool(u.before) for u in unique),
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


def _left(group: Sequence[Finding], left: Left) -> dict[str, Any]:
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
