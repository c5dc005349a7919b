"""From findings to unique, shrunk and documented ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asterism.core.console import get_logger, progress
from asterism.libraries.bench import PERTURBED, REFERENCES, Bench, Task, converter_of
from asterism.libraries.inputs import draw_inputs
from asterism.libraries.library import CONVERTERS
from asterism.libraries.localise import first_diverging
from asterism.libraries.oracle import Finding, judge, signature
from asterism.libraries.params import JudgeParams, TriageParams
from asterism.libraries.shrink import Shrinker
from asterism.memo.graph import Graph
from asterism.memo.spec import universe

log = get_logger(__name__)


@dataclass
class UniqueFinding:
    """One defect.

    Args:
        signature: stable name.
        finding: as it shows on the minimal model.
        graph: the minimal model.
        layer: the first diverging layer with its parameters, for values.
        models: the generated models that showed it.
        original_layers: size of the model that was shrunk.
        ablation: what was varied on the minimal model, and whether it still shows.
    """

    signature: str
    finding: Finding
    graph: Graph
    layer: str
    models: list[int]
    original_layers: int
    ablation: dict[str, str] = field(default_factory=dict)


class Triage:
    """De-duplicates and shrinks findings with the workers of ``bench``."""

    def __init__(self, bench: Bench, judging: JudgeParams, params: TriageParams, seed: int) -> None:
        self._bench = bench
        self._judging = judging
        self._params = params
        self._seed = seed

    def run(
        self, findings: Sequence[Finding], graphs: Sequence[Graph], draws: Sequence[str]
    ) -> tuple[list[UniqueFinding], int]:
        """Unique findings, shrunk, and how many groups were left for want of budget.

        Args:
            findings: of all models, in their order.
            graphs: the generated models.
            draws: inputs to run with.
        """
        unique: dict[str, UniqueFinding] = {}
        groups = _coarse(findings)
        budget = self._params.max_unique
        for group in progress(groups[:budget], label="triage", unit="finding"):
            found = self._examine(group, graphs)
            if found.signature in unique:
                unique[found.signature].models.extend(found.models)
            else:
                unique[found.signature] = found
        for found in unique.values():
            found.models = sorted(set(found.models))
            found.ablation = self._ablate(found, draws)
        return [unique[s] for s in sorted(unique)], max(0, len(groups) - budget)

    def _examine(self, group: Sequence[Finding], graphs: Sequence[Graph]) -> UniqueFinding:
        # The smallest of the models that show it shrinks fastest.
        first = min(group, key=lambda f: (len(graphs[f.model].layers), f.model))
        graph, suspect = graphs[first.model], None
        if first.by_values:
            task = self._task(first.model, graph, first.draws)
            suspect = first_diverging(self._bench, task, first.routes[0], self._judging)
        shrinker = Shrinker(lambda g: self.showing(g, first) is not None, self._params.max_steps)
        minimal = shrinker.shrink(graph, suspect)
        shown = self.showing(minimal, first)
        if shown is None:  # the finding needs the weights or inputs of the whole model
            minimal, shown = graph, first
        layer = ""
        if shown.by_values:
            task = self._task(first.model, minimal, shown.draws)
            node = first_diverging(self._bench, task, shown.routes[0], self._judging)
            layer = describe_layer(minimal, minimal.outputs[0] if node is None else node)
        return UniqueFinding(
            signature(shown, layer),
            replace(shown, model=first.model),
            minimal,
            layer,
            sorted({f.model for f in group}),
            len(graph.layers),
        )

    def showing(self, graph: Graph, finding: Finding) -> Finding | None:
        """The finding on another model, or None where that does not show it."""
        routes = self._routes(finding)
        needed = finding.draws if finding.by_values else finding.draws[:1]
        task = replace(self._task(finding.model, graph, needed), routes=routes)
        result = self._bench.run(task)
        for other in judge(graph, result, self._judging, self._seed).findings:
            same = (other.symptom, other.library) == (finding.symptom, finding.library)
            if same and (other.by_values or signature(other) == signature(finding)):
                return other
        return None

    def _routes(self, finding: Finding) -> tuple[str, ...]:
        """Where it shows, two witnesses, and the references."""
        hosts = [f"{CONVERTERS[r].host}:eager" for r in finding.routes if r in CONVERTERS]
        shown = [r for r in finding.routes if ":" in r]
        if not shown:  # a converter failed: any reader of its file asks for it
            shown = [r for r in self._bench.usable() if _reads(r, finding.routes)][:1]
        cheap = sorted(finding.witnesses, key=lambda w: (not w.endswith(":eager"), w))
        witnesses = [w for w in cheap if ":" in w][:2]
        # Blaming a converter takes its other readers, and its readers on another converter's file.
        libraries = {r.partition(":")[0] for r in shown if converter_of(r) is not None}
        readers = [
            r
            for r in finding.witnesses
            if r.partition(":")[0] in libraries or _reads(r, (finding.library,))
        ]
        references = (*REFERENCES, PERTURBED) if finding.by_values else ()
        wanted = (*shown, *readers, *witnesses, *hosts, *references)
        return tuple(r for r in dict.fromkeys(wanted) if r in self._bench.usable())

    def _task(self, model: int, graph: Graph, draws: Sequence[str]) -> Task:
        inputs = {d: draw_inputs(graph, self._seed, model, d) for d in draws}
        return Task(model, graph, inputs)

    def _ablate(self, found: UniqueFinding, draws: Sequence[str]) -> dict[str, str]:
        """The minimal model in every route (optimisation levels, XLA, formats), dtype and batch."""
        answers: dict[str, str] = {}
        model = found.finding.model
        for dtype in ("float32", "float64", "float16"):
            graph = with_dtype(found.graph, dtype)
            answers[f"dtype {dtype}"] = _yes(self.showing(graph, found.finding))
        for draw in draws:
            other = replace(found.finding, draws=(draw,))
            answers[f"input {draw}"] = _yes(self.showing(found.graph, other))
        task = self._task(model, found.graph, found.finding.draws)
        single = {d: [a[:1] for a in arrays] for d, arrays in task.inputs.items()}
        result = self._bench.run(replace(task, inputs=single))
        shown = judge(found.graph, result, self._judging, self._seed).findings
        wrong = {r for f in shown if f.symptom == found.finding.symptom for r in f.routes}
        answers["batch of 1"] = "shows" if wrong & set(found.finding.routes) else "gone"
        for route in self._bench.usable():
            if route not in (*REFERENCES, PERTURBED):
                status = result.outcomes[route].status
                answers[route] = "shows" if route in wrong else status
        return answers


def _coarse(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that are certainly the same: by exception and frame.

    Findings by values are only the same when their layer is known to be, so each model stands
    alone until it has been shrunk. The budget goes round: the first group of each symptom and
    library, then the second ones, failures before differences.
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        own = str(finding.model) if finding.by_values else ""
        key = (signature(finding), own)
        groups.setdefault(key, []).append(finding)
    ranked = sorted(
        groups.values(),
        key=lambda g: (g[0].severity == "special", g[0].by_values, -len(g), g[0].model),
    )
    seen: Counter[tuple[str, str]] = Counter()
    rounds = []
    for group in ranked:
        kind = (group[0].symptom, group[0].library)
        rounds.append((seen[kind], group))
        seen[kind] += 1
    return [group for _, group in sorted(rounds, key=lambda item: item[0])]


def describe_layer(graph: Graph, identity: int) -> str:
    """A layer with the parameters that are not at their defaults: part of a signature."""
    node = graph.nodes[identity]
    if node.type not in universe():
        return node.type
    spec = universe()[node.type]
    defaults = spec.defaults()
    named = [
        f"{p.name}={node.config[p.name]}"
        for p in spec.all_parameters
        if p.name in node.config
        and p.name in defaults
        and defaults[p.name] != node.config[p.name]
        and isinstance(node.config[p.name], str | bool)
    ]
    return f"{node.type}({', '.join(named)})"


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


def _reads(route: str, converters: Sequence[str]) -> bool:
    return converter_of(route) in converters


def _yes(shown: Finding | None) -> str:
    return "shows" if shown is not None else "gone"
