"""What keeping the outcomes of a campaign costs, as a share of running it.

    python benchmarks/recording.py [--models 8] [--experiment library_campaign]

Models of generation run in the backends and with the inputs of an experiment. Everything that
writes is timed: the files of a model, the saved states, the finished parts, the stage's outputs.
Beside it stands what all arrays would take without those that agree being left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import yaml

from asterism.config import Params, compose
from asterism.core.parameters.params import validate
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.core.settings import machine
from asterism.differential.engine.execution import execute, open_worker_pool, parts_of
from asterism.differential.engine.record import Record
from asterism.differential.reducing.reduce import reduce_model, renumbered
from asterism.differential.reducing.seeds import make_seed_model
from asterism.memo.generating.strategy import campaign
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_read import graph_of
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.graphs.store import write_weights

#: Seed models that are read in seconds.
SEEDS = ("lenet5", "alexnet", "lstm1", "lstm2")


class Clock:
    """Seconds spent in some functions, those that they call counted once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **keywords: Any) -> Any:
            if self._inside:
                return function(*arguments, **keywords)
            self._inside, began = True, time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self._inside = False
                self.seconds += time.perf_counter() - began

        return wrapped


def models(params: Params, count: int) -> list[Graph]:
    """Models of a campaign that together cover most for their cost."""
    import_keras("numpy")
    seeds = {n: renumbered(reduce_model(graph_of(make_seed_model(n, 0), 16)[0])) for n in SEEDS}
    budget = params.generate.model_copy(update={"models": 20 * count})
    made = campaign(seeds, budget, params.seed, "memo")
    return [made.mutants[at].graph for at in made.broadest(count)]


def main() -> None:
    """Run the models, and say what writing took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--experiment", default="library_campaign")
    given = parser.parse_args()
    text = compose(Path("conf"), [f"+experiment={given.experiment}"])
    params = validate(Params, yaml.safe_load(text))
    graphs = models(params, given.models)
    clock, sizes = Clock(), []

    add = Record.add

    def timed_add(self: Record, graph: Graph, results: Any) -> None:
        outputs = (many for r in results for o in r.outputs.values() for many in o.values())
        sizes.append(sum(array.nbytes for many in outputs for array in many))
        clock.timed(add)(self, graph, results)

    with tempfile.TemporaryDirectory(dir=machine.state_root().parent) as folder:
        os.environ["ASTERISM_STATE_ROOT"] = str(Path(folder) / "state")
        weights = Path(folder) / "weights.npz"
        write_weights(weights, {})
        units = SharedWorkUnits("execute_models", "0" * 32)
        patches = (
            patch.object(Record, "add", timed_add),
            patch.object(Checkpoint, "save", clock.timed(Checkpoint.save)),
            patch.object(saved_folders, "write", clock.timed(saved_folders.write)),
        )
        for each in patches:
            each.start()
        wanted = params.execute
        with open_worker_pool(params.execute, weights) as pool:
            pool.start()
            parts = len(parts_of(graphs, pool.backends, wanted.distributions, wanted.more_share))
            began = time.perf_counter()
            record = execute(
                graphs,
                pool,
                wanted.distributions,
                params.seed,
                units,
                wanted.special_share,
                wanted.outside_share,
            )
            clock.timed(record.save)(Path(folder) / "outputs")
            took = time.perf_counter() - began
            busy = sum(pool.seconds.values()) / len(graphs)
        kept = sum(f.stat().st_size for f in (Path(folder) / "outputs").rglob("*.*"))
        units.finish()
    print(f"{len(graphs)} models in {parts} parts, {len(pool.backends)} backends and references")
    print(f"{took:.1f} s in all, {took / len(graphs):.1f} s a model, {took / parts:.0f} s a part")
    print(f"workers took {busy:.1f} s of a processor a model")
    print(f"writing took {clock.seconds:.2f} s: {clock.seconds / took:.2%}")
    print(f"arrays {sum(sizes) / 1e6:.1f} MB, kept in {kept / 1e6:.1f} MB of files")


if __name__ == "__main__":
    main()
