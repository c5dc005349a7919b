"""From findings to unique, shrunk and documented ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from asterism.core.messages.console import progress
from asterism.differential.adapters.backends import under_test
from asterism.differential.oracle.finding import Finding, signature
from asterism.differential.triage.budget import NO_CEILING, Ceiling, TriageBudget
from asterism.differential.triage.groups import in_order
from asterism.differential.triage.params import TriageParams
from asterism.differential.triage.remembering import ShrunkFindings
from asterism.differential.triage.reproduction import Reproduction, ablate, first_diverging
from asterism.differential.triage.shrink import Shrinker
from asterism.differential.triage.unique import UniqueFinding, layer_at_fault
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import layer_name


class UntriagedFindings(NamedTuple):
    """What was not taken up.

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
        ceiling: of time.
    """

    def __init__(
        self,
        show: Reproduction,
        params: TriageParams,
        memory: ShrunkFindings | None = None,
        ceiling: Ceiling = NO_CEILING,
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
        earlier = {found.signature: found for found in known}
        groups = in_order(findings)
        left = UntriagedFindings([])
        for at, group in enumerate(progress(groups, label="triage", unit="group")):
            if because := self._used_up(len(unique)):
                left = UntriagedFindings(groups[at:], because, because == self._ceiling.name)
                break
            first = min(group, key=lambda f: (len(graphs[f.model].layers), f.model))
            if signature(first) in earlier:
                continue
            suspect = self._suspect(first, graphs[first.model])
            same = self._explained(first, graphs[first.model], suspect, {**earlier, **unique})
            if same is None:
                found = self._shrunk(first, graphs[first.model], suspect)
                if found.signature in earlier:
                    continue
                same = unique.setdefault(found.signature, found)
                if same is found:
                    report(found)
            same.models |= {f.model for f in group}
        for found in unique.values():
            varied = ablate(self._show, found.graph, found.finding, distributions)
            found.ablation = varied | found.ablation
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
        return first_diverging(self._show, task, finding.backends[0])

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
        minimal = Shrinker(shows, budget).shrink(graph, suspect)
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
            signature(shown, "" if layer is None else str(layer)),
            replace(shown, model=finding.model, before=finding.before),
            minimal,
            layer,
            set(),
            len(graph.layers),
            {r: judged.answers[r] for r in under_test(self._worker_pool.usable())},
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
