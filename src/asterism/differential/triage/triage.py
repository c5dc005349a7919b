"""From findings to unique, shrunk and documented ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import get_logger, progress
from asterism.differential.adapters.backend_names import converter_of, library_of, select_under_test
from asterism.differential.engine.execution import open_worker_pool
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import KERAS, Finding, defect_signature
from asterism.differential.params import TriageParams, TriageSettings
from asterism.differential.report.writing import Reporter, read_known_issues, write_reports
from asterism.differential.shrinking.reducer import NO_CEILING, TriageBudget, TriageDeadline
from asterism.differential.shrinking.reproduction import Reproduction, ablate, find_first_diverging
from asterism.differential.shrinking.shrink import shrink_model
from asterism.differential.shrinking.unique_finding import UniqueFinding, layer_at_fault
from asterism.differential.triage.groups import group_findings, unite_invalid_configurations
from asterism.differential.triage.shrink_cache import ShrunkFindings
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import layer_name
from asterism.memo.graphs.store import read_weights

log = get_logger(__name__)

#: The list of findings that were not taken up, with what was wanting.
LEFT = "left.json"
#: The folder of findings just outside of what is valid, below that of all findings.
OUTSIDE_FOLDER = "outside"


class UntriagedFindings(NamedTuple):
    """The findings that triage did not process.

    Args:
        groups: findings that are certainly the same, the most telling first.
        because: the budget that was used up; empty where nothing is left.
        out_of_time: whether that is time, which the next run may have.
    """

    groups: list[list[Finding]]
    because: str = ""
    out_of_time: bool = False


class Triage:
    """De-duplicates and shrinks findings.

    Args:
        show: asks whether a model shows a finding.
        params: budgets.
        memory: what earlier runs have shrunk.
        ceiling: the ceiling of time.
    """

    def __init__(
        self,
        show: Reproduction,
        params: TriageParams,
        memory: ShrunkFindings | None = None,
        ceiling: TriageDeadline = NO_CEILING,
    ) -> None:
        self._worker_pool = show.worker_pool
        self._show, self._params, self._ceiling = show, params, ceiling
        self._memory = ShrunkFindings() if memory is None else memory

    def run(
        self,
        findings: Sequence[Finding],
        graphs: Sequence[Graph],
        distributions: Sequence[str],
        report: Callable[[UniqueFinding], None] = lambda unique: None,
        known: Sequence[UniqueFinding] = (),
    ) -> tuple[list[UniqueFinding], UntriagedFindings]:
        """Unique findings, shrunk, and how many were left when a limit was reached.

        Args:
            findings: of all models, in their order.
            graphs: the generated models.
            distributions: inputs to run with.
            report: told of each unique finding as soon as it is shrunk.
            known: unique findings of earlier runs: what is one of them again is passed over.
        """
        unique: dict[str, UniqueFinding] = {}
        earlier = {shrunk.signature: shrunk for shrunk in known}
        groups = group_findings(findings)
        left = UntriagedFindings([])
        for at, group in enumerate(progress(groups, label="triage", unit="group")):
            if because := self._used_up(len(unique)):
                left = UntriagedFindings(groups[at:], because, because == self._ceiling.name)
                break
            first = min(group, key=lambda f: (len(graphs[f.model].layers), f.model))
            if defect_signature(first) in earlier:
                continue
            suspect = self._suspect(first, graphs[first.model])
            same = self._explained(first, graphs[first.model], suspect, {**earlier, **unique})
            if same is None:
                shrunk = self._shrunk(first, graphs[first.model], suspect)
                if shrunk.signature in earlier:
                    continue
                same = unique.setdefault(shrunk.signature, shrunk)
                if same is shrunk:
                    report(shrunk)
            same.models |= {f.model for f in group}
        for shrunk in unique.values():
            varied = ablate(self._show, shrunk.graph, shrunk.finding, distributions)
            shrunk.ablation = varied | shrunk.ablation
        return [unique[s] for s in sorted(unique)], left

    def _used_up(self, unique: int) -> str:
        """The budget for which no other finding is taken up; nothing where one is."""
        if unique == self._params.max_unique:
            return f"triage.max_unique={unique}"
        return self._ceiling.name if self._ceiling.is_reached() else ""

    def _suspect(self, finding: Finding, graph: Graph) -> int | None:
        """The layer where values first go wrong, or that a message names; None where unknown."""
        if not finding.by_values:
            named = (i for i in graph.layers if layer_name(i, graph.nodes[i]) in finding.message)
            return next(named, None)
        if finding.question:  # derivatives have no value in the midst of a model
            return None
        task = self._show.task(finding.model, graph, finding.distributions)
        return find_first_diverging(self._show, task, finding.backends[0])

    def _explained(
        self, finding: Finding, graph: Graph, suspect: int | None, unique: dict[str, UniqueFinding]
    ) -> UniqueFinding | None:
        """A unique finding that this one needs no shrinking to be the same as."""
        if suspect is None or not finding.by_values:
            return None
        layer = layer_at_fault(graph, suspect)
        alike = (u for u in unique.values() if _kind(u.finding) == _kind(finding))
        return next((u for u in alike if u.layer is not None and u.layer.explains(layer)), None)

    def _shrunk(self, finding: Finding, graph: Graph, suspect: int | None) -> UniqueFinding:
        """A finding on its minimal model, from memory where an earlier run has shrunk it."""
        steps, backends = self._params.max_steps, list(self._worker_pool.usable())
        asked = [replace(finding, before=()).to_json(), graph.to_json(), suspect, backends]

        def shrink() -> tuple[UniqueFinding, bool]:
            found, is_sure = self._shrink(finding, graph, suspect)
            if is_sure := is_sure and not found.out_of_time:
                self._ceiling.advanced()
            return found, is_sure

        found = self._memory.shrunk(asked, steps, shrink)
        return replace(found, finding=replace(found.finding, before=finding.before))

    def _shrink(
        self, finding: Finding, graph: Graph, suspect: int | None
    ) -> tuple[UniqueFinding, bool]:
        """A finding on its minimal model; whether no candidate was gone while a worker died."""
        kind = graph.nodes[suspect].type if finding.by_values and suspect is not None else None
        is_sure = True

        def shows(smaller: Graph) -> bool:
            nonlocal is_sure
            if kind not in (None, *(smaller.nodes[i].type for i in smaller.layers)):
                return False
            deaths = self._worker_pool.deaths
            found = self._show.look(smaller, finding).finding
            alike = found is not None and found.library == finding.library
            if found is not None and alike and self._goes_wrong_in(kind, found, smaller):
                return True
            is_sure &= self._worker_pool.deaths == deaths
            return False

        budget = TriageBudget(self._params.max_steps, "triage.max_steps", self._ceiling)
        minimal = shrink_model(graph, shows, budget, suspect)
        judged = self._show.look(minimal, finding, everywhere=True)
        rest = budget.unfinished
        if judged.finding is None:  # it needs the weights or inputs of the whole model
            minimal = graph
            none = "none smaller was found that shows it when it runs in all backends"
            rest = "; ".join(filter(None, (none, rest)))
            judged = self._show.look(graph, finding, everywhere=True)
        shown = judged.finding or finding
        layer = None
        if shown.by_values:
            node = self._suspect(shown, minimal)
            layer = layer_at_fault(minimal, minimal.outputs[0] if node is None else node)
        found = UniqueFinding(
            defect_signature(shown, "" if layer is None else str(layer)),
            replace(shown, model=finding.model, before=finding.before),
            minimal,
            layer,
            set(),
            len(graph.layers),
            {r: judged.answers[r] for r in select_under_test(self._worker_pool.usable())},
            rest,
            out_of_time=budget.out_of_time,
        )
        return found, is_sure

    def _goes_wrong_in(self, kind: str | None, finding: Finding, graph: Graph) -> bool:
        """Whether values first go wrong in a layer of that type, as far as that can be told."""
        if kind is None or len(graph.layers) == 1:
            return True
        suspect = self._suspect(finding, graph)
        return suspect is None or graph.nodes[suspect].type == kind


def _kind(finding: Finding) -> tuple[str, str, str, str]:
    return finding.symptom, finding.library, finding.severity, finding.question


@dataclass(frozen=True)
class FindingsToTriage:
    """The oracle's findings, and what is already known about them.

    Args:
        findings: the findings of all models, in their order.
        graphs: the models.
        weights: file of the arrays that nodes may name.
        excluded: what is no wrong result; of findings just outside of what is valid scripts are
            written.
        earlier: unique findings of earlier runs, which are passed over.
        outside_known: signatures of those just outside of what is valid, likewise.
    """

    findings: Sequence[Finding]
    graphs: Sequence[Graph]
    weights: Path
    excluded: Sequence[Finding] = ()
    earlier: Sequence[UniqueFinding] = ()
    outside_known: Collection[str] = ()


def triage_and_write(
    to_triage: FindingsToTriage,
    settings: TriageSettings,
    target: Path,
    memory: ShrunkFindings | None = None,
    worker_pool: WorkerPool | None = None,
) -> dict[str, Any]:
    """Shrink and de-duplicate findings, and write ``unique.json`` and a folder for each.

    Args:
        to_triage: the findings.
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
            worker_pool = open_worker_pool(settings.execute, to_triage.weights)
            using.enter_context(worker_pool)
        return _write(worker_pool, to_triage, settings, folder, memory)


def _write(
    worker_pool: WorkerPool,
    to_triage: FindingsToTriage,
    settings: TriageSettings,
    folder: Path,
    memory: ShrunkFindings | None,
) -> dict[str, Any]:
    """As :func:`triage_and_write`, into an empty folder."""
    triage, graphs = settings.triage, to_triage.graphs
    show = Reproduction(worker_pool, settings.judge, settings.seed, triage.hang_seconds)
    known = read_known_issues(triage.known_issues)
    stored = read_weights(to_triage.weights)
    if to_triage.findings:
        worker_pool.start()
    ceiling = TriageDeadline(triage.minutes)
    with Reporter(show, stored, folder, known) as reporter:
        kinds, steps = settings.execute.distributions, Triage(show, triage, memory, ceiling)
        shrunk, left = steps.run(
            to_triage.findings, graphs, kinds, reporter.start, to_triage.earlier
        )
        unique = write_reports(reporter, shrunk, folder)
    write_json(folder / LEFT, [_untriaged_as_json(group, left) for group in left.groups])
    stopped = sum(found.out_of_time for found in unique)
    groups_left = len(left.groups) if left.out_of_time else 0
    if stopped or groups_left:
        told = f"stopped by triage.minutes={triage.minutes:g}: the next run resumes there"
        log.warning(told, not_minimal=stopped, groups_left=groups_left)
    unique_invalid = unite_invalid_configurations(
        to_triage.excluded, graphs, settings.seed, triage.max_unique, to_triage.outside_known
    )
    outside: list[UniqueFinding] = []
    if unique_invalid:
        worker_pool.start()
        place = folder / OUTSIDE_FOLDER
        place.mkdir()
        with Reporter(show, stored, place, known) as reporter:
            for found in unique_invalid:
                reporter.start(found)
            outside = write_reports(reporter, unique_invalid, place)
    return {
        "outside": len(outside),
        "outside_reproduced_in_three_processes": sum(r.reproduced for r in outside),
        "findings": len(to_triage.findings),
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
        **count_findings([u.finding for u in unique], settings.execute.backends),
    }


def _untriaged_as_json(group: Sequence[Finding], left: UntriagedFindings) -> dict[str, Any]:
    """A group that was not taken up, as a JSON value."""
    first = group[0]
    return {
        "signature": defect_signature(first),
        "severity": first.severity,
        "backends": list(first.backends),
        "models": sorted({finding.model for finding in group}),
        "left_by": left.because,
    }


def count_findings(findings: Sequence[Finding], backends: Iterable[str]) -> dict[str, Any]:
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
