"""Running a model again to see whether it still shows a finding, in as few backends as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from asterism.differential.adapters.backends import FLOAT64, converter_of, library_of
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.inputs import compared_nodes, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import Finding, signature
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import Graph


@dataclass(frozen=True)
class Reproduced:
    """What a model did that may show a finding.

    Args:
        finding: as the model shows it, with whom to blame there; None where it does not.
        answers: for every backend and converter that it ran in, ``shows`` or how its step ended.
    """

    finding: Finding | None
    answers: dict[str, str]

    def answer(self, backends: Sequence[str]) -> str:
        """``shows``, ``gone``, or why none of these backends can tell."""
        if self.finding is not None:
            return "shows"
        ends = [self.answers[r] for r in backends if r in self.answers]
        return "gone" if "ok" in ends else next(iter(ends), "gone")


@dataclass(frozen=True)
class Reproduction:
    """Runs models to see whether they show a finding.

    Args:
        worker_pool: started workers.
        judging: tolerances.
        seed: of the inputs.
        hang_seconds: while a hang is shrunk, a step that takes longer shows it.
    """

    worker_pool: WorkerPool
    judging: JudgeParams
    seed: int
    hang_seconds: float

    def look(
        self,
        graph: Graph,
        finding: Finding,
        *,
        everywhere: bool = False,
        batch: int | None = None,
        **changes: Any,
    ) -> Reproduced:
        """Run another model and look for the finding.

        Args:
            graph: the other model.
            finding: what to look for.
            everywhere: run it in all backends, and wait for a hang as long as the worker pool
                itself does; otherwise only where the finding shows, with agreeing.
            batch: items in its inputs; None for as many as there are.
            changes: what else is changed of the task.
        """
        needed = finding.distributions if finding.by_values else finding.distributions[:1]
        needed = tuple(d for d in needed if compared_nodes(graph, (d,)))
        if not needed:  # such a model has nothing of what is compared
            return Reproduced(None, dict.fromkeys(finding.backends, "does not apply"))
        task = self.task(finding.model, graph, needed)
        hurried = finding.symptom == "hang" and not everywhere
        facts = {
            "inputs": {d: [a[:batch] for a in arrays] for d, arrays in task.inputs.items()},
            "backends": None if everywhere else self._backends(finding),
            "seconds": self.hang_seconds if hurried else None,
        }
        task = replace(task, **(facts | changes))
        result = self.worker_pool.run(task)
        judged = judge(graph, result, self.judging, self.seed).findings
        alike = [f for f in judged if _is_alike(f, finding)]
        shown = {backend for f in alike for backend in f.backends}
        same = [f for f in alike if set(f.backends) & set(finding.backends)]
        return Reproduced(
            min(same, key=lambda f: f.library != finding.library, default=None),
            {r: "shows" if r in shown else o.words for r, o in result.outcomes.items()},
        )

    def task(self, model: int, graph: Graph, distributions: Sequence[str]) -> Task:
        """A model with its inputs."""
        return Task(
            model, graph, {d: sample_inputs(graph, self.seed, model, d) for d in distributions}
        )

    def _backends(self, finding: Finding) -> tuple[str, ...]:
        """Where it shows, two agreeing, and the references."""
        sources = {r if r in CONVERTERS else converter_of(r) for r in finding.backends}
        shown = [r for r in finding.backends if r not in CONVERTERS]
        if not shown:  # a converter failed: any reader of its file asks for it
            shown = [r for r in self.worker_pool.usable() if _reads(r, finding.backends)][:1]
        cheap = sorted(finding.agreeing, key=lambda w: (not w.endswith(":eager"), w))
        agreeing = [w for w in cheap if w not in CONVERTERS][:2]
        # Blaming a converter takes its other readers, its readers on another converter's file,
        # and the library that it runs on.
        libraries = {library_of(r) for r in shown if converter_of(r) is not None}
        readers = [
            r
            for r in finding.agreeing
            if library_of(r) in libraries or _reads(r, (finding.library,))
        ]
        hosts = [
            next((w for w in cheap if library_of(w) == CONVERTERS[source].host), "")
            for source in sorted(s for s in sources if s is not None)
        ]
        references = FLOAT64 if finding.by_values else ()
        wanted = (*shown, *readers, *agreeing, *hosts, *references)
        return tuple(r for r in dict.fromkeys(wanted) if r in self.worker_pool.usable())


def _reads(backend: str, converters: Sequence[str]) -> bool:
    return converter_of(backend) in converters


def _is_alike(other: Finding, finding: Finding) -> bool:
    """Whether the same goes wrong, whoever is to blame."""
    if other.symptom != finding.symptom:
        return False
    blamed = replace(other, library=finding.library)
    return other.by_values or signature(blamed) == signature(finding)
