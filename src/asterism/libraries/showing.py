"""Asking whether a model shows a finding, with no more routes than that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asterism.libraries.bench import Bench, Result, Task
from asterism.libraries.inputs import draw_inputs
from asterism.libraries.library import CONVERTERS
from asterism.libraries.oracle import Finding, judge, signature
from asterism.libraries.params import JudgeParams
from asterism.libraries.routes import FLOAT64, converter_of, library_of
from asterism.memo.graph import Graph


@dataclass(frozen=True)
class Showing:
    """Runs models to see whether they show a finding.

    Args:
        bench: started workers.
        judging: tolerances.
        seed: of the inputs.
        hang_seconds: while a hang is shrunk, a step that takes longer shows it.
    """

    bench: Bench
    judging: JudgeParams
    seed: int
    hang_seconds: float

    def finding(
        self, graph: Graph, finding: Finding, *, opset: int | None = None, patient: bool = False
    ) -> Finding | None:
        """The finding on another model, or None where that does not show it.

        Args:
            graph: the other model.
            finding: what to look for.
            opset: version of the format that converters write; None for their own.
            patient: wait for a hang as long as the bench itself does.
        """
        needed = finding.draws if finding.by_values else finding.draws[:1]
        hurried = finding.symptom == "hang" and not patient
        task = replace(
            self.task(finding.model, graph, needed),
            routes=self._routes(finding),
            seconds=self.hang_seconds if hurried else None,
            opset=opset,
        )
        result = self.bench.run(task)
        for other in judge(graph, result, self.judging, self.seed).findings:
            same = (other.symptom, other.library) == (finding.symptom, finding.library)
            if same and (other.by_values or signature(other) == signature(finding)):
                return other
        return None

    def everywhere(self, graph: Graph, finding: Finding, batch: int) -> tuple[set[str], Result]:
        """The routes that show a finding's symptom on a smaller batch, and what all of them did."""
        task = self.task(finding.model, graph, finding.draws)
        fewer = {d: [a[:batch] for a in arrays] for d, arrays in task.inputs.items()}
        seconds = self.hang_seconds if finding.symptom == "hang" else None
        result = self.bench.run(replace(task, inputs=fewer, seconds=seconds))
        shown = judge(graph, result, self.judging, self.seed).findings
        return {r for f in shown if f.symptom == finding.symptom for r in f.routes}, result

    def task(self, model: int, graph: Graph, draws: Sequence[str]) -> Task:
        """A model with its inputs."""
        return Task(model, graph, {d: draw_inputs(graph, self.seed, model, d) for d in draws})

    def _routes(self, finding: Finding) -> tuple[str, ...]:
        """Where it shows, two witnesses, and the references."""
        sources = {r if r in CONVERTERS else converter_of(r) for r in finding.routes}
        shown = [r for r in finding.routes if r not in CONVERTERS]
        if not shown:  # a converter failed: any reader of its file asks for it
            shown = [r for r in self.bench.usable() if _reads(r, finding.routes)][:1]
        cheap = sorted(finding.witnesses, key=lambda w: (not w.endswith(":eager"), w))
        witnesses = [w for w in cheap if w not in CONVERTERS][:2]
        # Blaming a converter takes its other readers, its readers on another converter's file,
        # and the library that it runs on.
        libraries = {library_of(r) for r in shown if converter_of(r) is not None}
        readers = [
            r
            for r in finding.witnesses
            if library_of(r) in libraries or _reads(r, (finding.library,))
        ]
        hosts = [
            next((w for w in cheap if library_of(w) == CONVERTERS[source].host), "")
            for source in sorted(s for s in sources if s is not None)
        ]
        references = FLOAT64 if finding.by_values else ()
        wanted = (*shown, *readers, *witnesses, *hosts, *references)
        return tuple(r for r in dict.fromkeys(wanted) if r in self.bench.usable())


def _reads(route: str, converters: Sequence[str]) -> bool:
    return converter_of(route) in converters
