"""Running a model again to see whether it still shows a finding, in as few backends as needed.

So it is found where values first go wrong, and what a finding depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from asterism.differential.adapters.backend_names import FLOAT64, converter_of, library_of
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.inputs import compared_nodes, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import Finding, defect_signature
from asterism.differential.oracle.oracle import judge, judge_of
from asterism.differential.params import JudgeParams
from asterism.memo.graphs.graph import INPUT, Graph


@dataclass(frozen=True)
class ReproducedRun:
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
        seed: the seed of the inputs.
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
    ) -> ReproducedRun:
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
            return ReproducedRun(None, dict.fromkeys(finding.backends, "does not apply"))
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
        return ReproducedRun(
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
            for source in _converters_of(finding)
        ]
        references = FLOAT64 if finding.by_values else ()
        wanted = (*shown, *readers, *agreeing, *hosts, *references)
        return tuple(r for r in dict.fromkeys(wanted) if r in self.worker_pool.usable())


def find_first_diverging(show: Reproduction, task: Task, backend: str) -> int | None:
    """The first layer, in the model's order, that is wrong although what it reads is right.

    Every intermediate output is put out by the backend itself and by the references.

    Returns:
        The layer's node; None where putting out intermediate results hides the difference.
    """
    graph = task.graph
    assert isinstance(graph, Graph)
    nodes = tuple(i for i in graph.nodes if graph.nodes[i].type != INPUT)
    backends = tuple(dict.fromkeys((backend, *FLOAT64)))
    result = show.worker_pool.run(replace(task, outputs=nodes, backends=backends))
    for distribution in task.inputs:
        for at, node in enumerate(nodes):
            single = {
                r: {distribution: outputs[distribution][at : at + 1]}
                for r, outputs in result.outputs.items()
            }
            judge = judge_of(
                graph, replace(result, outputs=single), distribution, show.judging, outputs=(node,)
            )
            if judge.finding_of(backend).by_values:
                return node
    return None


def ablate(
    show: Reproduction, graph: Graph, finding: Finding, distributions: Sequence[str]
) -> dict[str, str]:
    """What was varied, and whether the finding still ``shows``, is ``gone`` or cannot be told.

    One thing at a time is varied.

    Args:
        show: asks whether a model shows a finding.
        graph: the minimal model.
        finding: as it shows there.
        distributions: inputs to try.
    """
    varied: dict[str, ReproducedRun] = {}
    for dtype in ("float32", "float64", "float16"):
        varied[f"dtype {dtype}"] = show.look(with_dtype(graph, dtype), finding)
    for distribution in distributions:
        varied[f"input {distribution}"] = show.look(
            graph, replace(finding, distributions=(distribution,))
        )
    for converter in _converters_of(finding):
        for opset in CONVERTERS[converter].opsets:
            varied[f"{converter} opset {opset}"] = show.look(graph, finding, opset=opset)
    varied["batch of 1"] = show.look(graph, finding, batch=1)
    return {what: shown.answer(finding.backends) for what, shown in varied.items()}


def _converters_of(finding: Finding) -> list[str]:
    """The converters among the finding's backends, and those whose files the others read."""
    named = {r if r in CONVERTERS else converter_of(r) for r in finding.backends}
    return sorted(c for c in named if c is not None)


def with_dtype(graph: Graph, dtype: str) -> Graph:
    """The graph with all floating layers and inputs in one dtype."""
    return Graph(
        {
            i: n
            if n.config.get("dtype") == "int32"
            else replace(n, config={**n.config, "dtype": dtype})
            for i, n in graph.nodes.items()
        }
    )


def _reads(backend: str, converters: Sequence[str]) -> bool:
    return converter_of(backend) in converters


def _is_alike(other: Finding, finding: Finding) -> bool:
    """Whether the same goes wrong, whoever is to blame."""
    if other.symptom != finding.symptom:
        return False
    blamed = replace(other, library=finding.library)
    return other.by_values or defect_signature(blamed) == defect_signature(finding)
