"""What saving the state of long stages costs, as a share of their time.

    python benchmarks/checkpoints.py [STAGE...] [--times 100]

Run it by hand in a project whose default run is there. Each stage's work is done in earnest with
so many times the default's budget, except that of ``execute_models``: there the models of the last
run are counted in again and again, each with other outputs, at the pace at which they ran.
``trigger`` saves finished parts only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asterism.config import Params
from asterism.core.files.artifacts import read_json
from asterism.core.parameters.params import validate
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import SAVE_EVERY, Checkpoint
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.core.settings import machine
from asterism.data import load
from asterism.deepstellar.fuzzing.campaign import FuzzingCampaign
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.seeding.seeds import SeedInputs
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.domains import build_domain
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.pair import ModelPair, open_pair
from asterism.dflare.trigger import SearchSeeds, budget_of, search_pair
from asterism.differential.engine.execution import backends_of, parts_of
from asterism.differential.engine.record import FOLDERS, Record
from asterism.differential.engine.tasks import Result
from asterism.memo.generating.strategy import campaign
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.graphs.store import read_models
from asterism.models.recurrent.trained import open_trained


class Counting(Checkpoint):
    """Counts its savings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder, self.count = folder, 0

    def save(self, fill: Callable[[Path], None], grows: Collection[str] = ()) -> None:
        super().save(fill, grows)
        self.count += 1


def fuzz(params: Params, times: int, checkpoint: Counting) -> float:
    """A campaign guided by states; the seconds that it took."""
    network = open_trained(Path("artifacts/train_rnn"))
    model = TraceModel.load(Path("artifacts/build_dtmc"))
    seeds = SeedInputs.load(Path("artifacts/select_seeds"))
    budget = params.fuzz.mutants * times
    began = time.perf_counter()
    FuzzingCampaign(network, model, seeds, params.fuzz, "state", params.seed, 0, budget).run(
        checkpoint
    )
    return time.perf_counter() - began


def generate_models(params: Params, times: int, checkpoint: Counting) -> float:
    """A campaign of MEMO's; the seconds that it took."""
    import_keras("numpy")
    seeds = read_models(Path("artifacts/reduce_models"))
    budget = params.generate.model_copy(update={"models": params.generate.models * times})
    began = time.perf_counter()
    campaign(seeds, budget, params.seed, params.generate.strategy, 0, checkpoint)
    return time.perf_counter() - began


def execute_models(params: Params, times: int, checkpoint: Counting) -> float:
    """WorkUnits of models that run as long as in the last run; the seconds that it would take."""
    graphs = list(read_models(Path("artifacts/generate_models")).values())
    models = len(graphs)
    known = list(Record.load(Path("artifacts/execute_models")).results(models))
    pace = float(read_json(Path("logs/execute_models.run.json"))["seconds"]) / models
    run = params.execute
    parts = parts_of(graphs * times, backends_of(run), run.distributions, run.more_share)
    passed = 0.0
    for name, numbers in parts.items():
        record, saved = Record(), passed
        part = Counting(checkpoint.folder / name)
        for number, graph in numbers.items():
            record.add(graph, [_another(known[number % len(known)], number)])
            passed += pace
            if passed - saved >= SAVE_EVERY:
                saved = passed
                part.save(record.save, FOLDERS)
        checkpoint.count += part.count
        checkpoint.seconds += part.seconds
    return passed


def trigger(params: Params, times: int, checkpoint: Counting) -> float:
    """The searches of one pair; the seconds that they took."""
    pair, wanted = next(iter(params.pairs.values())), params.trigger.seeds * times
    images = load(params.data).test_images
    items = np.resize(images, (wanted, *images.shape[1:]))
    seeds = SearchSeeds(items, np.arange(wanted))
    domain = build_domain(params.trigger.domain, params.trigger.operators)
    write = saved_folders.write

    def timed(folder: Path, *saved: Any) -> dict[str, str]:
        started = time.perf_counter()
        digests = write(folder, *saved)
        checkpoint.seconds += time.perf_counter() - started
        checkpoint.count += 1
        return digests

    files = Path(pair.original), Path(pair.compressed)
    with open_pair(*files, params.preprocessing) as models:
        comparison = build_comparison(params.trigger.comparison, (models[0].classes,))
        under_test = PairUnderTest(ModelPair(*models), domain, comparison)
        began = time.perf_counter()
        with patch.object(saved_folders, "write", timed):
            units = SharedWorkUnits("trigger", "0" * 32)
            budget = budget_of(params.trigger)
            search_pair(params.trigger.searches, under_test, seeds, budget, params.seed, units)
        return time.perf_counter() - began


def _another(result: Result, number: int) -> Result:
    """A result with outputs that no other model has."""
    outputs = {
        backend: {
            distribution: [a + np.asarray(number, a.dtype) if a.size else a for a in many]
            for distribution, many in by_distribution.items()
        }
        for backend, by_distribution in result.outputs.items()
    }
    return Result(number, result.distributions, result.outcomes, outputs)


STAGES: dict[str, Callable[[Params, int, Counting], float]] = {
    "fuzz": fuzz,
    "generate_models": generate_models,
    "execute_models": execute_models,
    "trigger": trigger,
}


def main() -> None:
    """Measure the stages that are asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("stages", nargs="*", choices=[*STAGES, []], help="all if none")
    arguments.add_argument("--times", type=int, default=100, help="the default's budget")
    given = arguments.parse_args()
    params = validate(Params, yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8")))
    print(f"{given.times} times the default's budget")
    print(f"{'stage':20}{'seconds':>10}{'savings':>10}{'seconds':>10}{'share':>8}")
    for name in given.stages or STAGES:
        with tempfile.TemporaryDirectory(dir=machine.state_root()) as folder:
            os.environ["ASTERISM_STATE_ROOT"] = folder
            checkpoint = Counting(Path(folder) / "checkpoint")
            took = STAGES[name](params, given.times, checkpoint)
            spent = checkpoint.seconds
            print(f"{name:20}{took:>10.1f}{checkpoint.count:>10}{spent:>10.2f}{spent / took:>8.2%}")


if __name__ == "__main__":
    main()
