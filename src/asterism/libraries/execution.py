"""Running generated models and keeping what came of it, so that judging executes nothing again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asterism.core.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.checkpoints import Checkpoint
from asterism.core.console import progress
from asterism.libraries.bench import Bench, Result, Task
from asterism.libraries.handle import Limits
from asterism.libraries.inputs import GRADIENT, SPECIAL_DRAWS, draw_inputs
from asterism.libraries.library import LIBRARIES
from asterism.libraries.oracle import compared_nodes
from asterism.libraries.outcomes import Outcome
from asterism.libraries.params import ExecuteParams
from asterism.libraries.routes import FLOAT64, library_of
from asterism.memo.graph import Graph

#: Models between two checkpoints.
_CHECKPOINT_EVERY = 20


@dataclass
class Record:
    """Outcomes and outputs of all tasks (a model, some draws); equal arrays are kept once."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Count a model in."""
        outputs = {
            route: {draw: [self._keep(a) for a in many] for draw, many in draws.items()}
            for route, draws in result.outputs.items()
        }
        outcomes = [result.outcomes[r].to_json() for r in sorted(result.outcomes)]
        facts = {"index": result.index, "draws": list(result.draws)}
        self.tasks.append({**facts, "outcomes": outcomes, "outputs": outputs})

    def _keep(self, array: Any) -> str:
        facts = f"{array.dtype}{array.shape}".encode()
        name = hashlib.sha256(facts + array.tobytes()).hexdigest()[:20]
        self.arrays[name] = array
        return name

    def result(self, at: int) -> Result:
        """The result of one task, as the bench gave it."""
        model = self.tasks[at]
        return Result(
            model["index"],
            tuple(model["draws"]),
            {o["route"]: Outcome(**o) for o in model["outcomes"]},
            {
                route: {draw: [self.arrays[n] for n in names] for draw, names in draws.items()}
                for route, draws in model["outputs"].items()
            },
        )

    def write(self, folder: Path) -> None:
        """``outcomes.json`` and ``outputs.npz``."""
        write_json(folder / "outcomes.json", self.tasks)
        write_arrays(folder / "outputs.npz", **{n: self.arrays[n] for n in sorted(self.arrays)})

    @staticmethod
    def read(folder: Path) -> Record:
        """What :meth:`write` wrote."""
        return Record(
            read_json(folder / "outcomes.json"), dict(read_arrays(folder / "outputs.npz"))
        )


def open_bench(params: ExecuteParams, weights: Path) -> Bench:
    """Workers for the routes under test and the references."""
    routes = (*params.routes, *FLOAT64)
    return Bench(
        tuple(dict.fromkeys(routes)), Limits(params.hang_seconds, params.memory_mb), weights
    )


def execute(
    graphs: Sequence[Graph],
    bench: Bench,
    draws: Sequence[str],
    seed: int,
    checkpoint: Checkpoint | None = None,
    report: Callable[[Result], None] = lambda result: None,
) -> Record:
    """Run every model in every route.

    Args:
        graphs: the models.
        bench: started workers.
        draws: names of the inputs to run with.
        seed: of the inputs.
        checkpoint: where a killed run is taken up again.
        report: told of every result, in order.
    """
    saved = checkpoint.load() if checkpoint is not None else None
    record = Record.read(saved) if saved is not None else Record()
    done = len(record.tasks)
    # What is special is a task of its own: where it makes a library fail, the rest still stands.
    alone = (GRADIENT, *SPECIAL_DRAWS)
    groups = [[d for d in draws if d not in alone], *([d] for d in draws if d in alone)]
    planned = [
        (i, group)
        for i, graph in enumerate(graphs)
        for group in groups
        if group and compared_nodes(graph, group)  # integers have no gradient
    ][done:]
    differentiating = tuple(r for r in bench.routes if LIBRARIES[library_of(r)].differentiates)
    tasks = (
        Task(
            i,
            graphs[i],
            {d: draw_inputs(graphs[i], seed, i, d) for d in group},
            routes=differentiating if GRADIENT in group else None,
        )
        for i, group in planned
    )
    bar = progress(bench.run_all(tasks), total=len(planned), label="execute", unit="model")
    for result in bar:
        record.add(result)
        report(result)
        if checkpoint is not None and len(record.tasks) % _CHECKPOINT_EVERY == 0:
            checkpoint.save(record.write)
    return record
