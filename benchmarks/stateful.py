"""How fast the stateful lane is, beside pure inference of the same network.

    python benchmarks/stateful.py [--network mnist-lstm.h5] [--mutants 200000]

Run it by hand on an idle machine. It profiles the network on MNIST's training set, builds the
Markov chain (k = 3, m = 10), and fuzzes from 100 seeds. MNIST is found as the pipeline finds it
(`data.root` in machine.yaml, or a download).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asterism.config import Params, compose
from asterism.core.parameters.params import validate
from asterism.core.settings import machine
from asterism.data import Dataset, load
from asterism.deepstellar.fuzzing.fuzz import fuzz
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.parameters.params import FuzzParams
from asterism.deepstellar.profiling.profile import Profile, profile
from asterism.deepstellar.seeding.seeds import SeedInputs, select_seeds
from asterism.models.recurrent import RecurrentModel, open_rnn

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = 9900  # mutants after which the released tool's coverage is known
REPEATS = 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--network", type=Path, default=ROOT / "../shared/models/mnist-lstm.h5")
    arguments.add_argument("--mutants", type=int, default=200_000)
    arguments.add_argument("--memory", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    text = compose(ROOT / "conf", ["data=mnist", "rnn=file", f"rnn.path={given.network}"])
    params: Params = validate(Params, yaml.safe_load(text))
    if given.memory is not None:
        print(fitting_mb(Profile.load(given.memory), params))
        return
    network, data = open_rnn(given.network, None), load(params.data)

    rate = inference(network, data.train_images[:20_000])
    row("inference with all hidden states", f"{rate:,.0f} sequences/s", "")
    with tempfile.TemporaryDirectory() as folder:
        model = profiling(network, data, params, Path(folder))
    seeds = choose(network, data, params.seeds.per_class)
    coverage(network, model, seeds, params.fuzz)
    speed(network, model, seeds, params.fuzz, given.mutants, rate)


def inference(network: RecurrentModel, images: Any) -> float:
    """Sequences per second, the best of several runs over the same blocks that fuzzing uses."""
    return max(len(images) / seconds(lambda: network.run(images))[0] for _ in range(REPEATS))


def profiling(network: RecurrentModel, data: Dataset, params: Params, folder: Path) -> TraceModel:
    took, count = seconds(lambda: profile(network, data.train_images, data.train_labels, folder))
    row("states profiled", f"{count * 28 / took:,.0f} states/s", f"{count:,} sequences")
    profiled = Profile.load(folder)
    took, model = seconds(
        lambda: TraceModel.fit(profiled.states, profiled.labels, data.classes, params.abstraction)
    )
    size = f"{len(model.dtmc.codes):,} states, {model.dtmc.counts.nnz:,} transitions"
    row("abstraction and chain", f"{took:.1f} s", f"{size}; at most 5 s")
    command = [sys.executable, __file__, "--memory", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = "memory beyond the mapped input, in a process of its own; at most 1 GB"
    row("", f"{int(done.stdout.split()[-1]):,} MB", told)
    return model


def fitting_mb(profiled: Profile, params: Params) -> int:
    """Peak of this process' memory while it fits, beyond what it has with the whole input in it."""
    np.max(profiled.states)  # brings every page of the mapped file in
    before = psutil.Process().memory_info().rss // 1024**2
    classes = int(profiled.labels.max()) + 1
    TraceModel.fit(profiled.states, profiled.labels, classes, params.abstraction)
    return machine.peak_memory_mb() - before


def choose(network: RecurrentModel, data: Dataset, per_class: int) -> SeedInputs:
    predicted = network.run(data.test_images)[0].argmax(axis=1)
    inputs = select_seeds(predicted, data.test_labels, data.classes, per_class, seed=0)
    return SeedInputs(data.test_images[inputs], data.test_labels[inputs], inputs)


def coverage(
    network: RecurrentModel, model: TraceModel, seeds: SeedInputs, params: FuzzParams
) -> None:
    short = params.model_copy(update={"mutants": PUBLISHED})
    for criterion in params.criteria:
        visits = fuzz(network, model, seeds, short, criterion, seed=0).visits
        first, last = (visits.coverage("basic_state", n) for n in (0, PUBLISHED))
        told = "published: 46.9% to 79%" if criterion == "state" else ""
        row(
            f"states covered, {PUBLISHED:,} mutants, {criterion}",
            f"{first:.1%} to {last:.1%}",
            told,
        )


def speed(
    network: RecurrentModel,
    model: TraceModel,
    seeds: SeedInputs,
    params: FuzzParams,
    mutants: int,
    rate: float,
) -> None:
    long = params.model_copy(update={"mutants": mutants})
    for criterion in params.criteria:
        took, found = seconds(partial(fuzz, network, model, seeds, long, criterion, seed=0))
        told = f"{found.run / took / rate:.0%} of inference; {len(found.crashes):,} crashes"
        if criterion == "state":
            told += "; at least 17,000, released tool 1,720"
        row(f"fuzzing, {criterion}", f"{found.run / took:,.0f} mutants/s", told)


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def row(what: str, measured: str, told: str) -> None:
    print(f"{what:46}{measured:>26}   {told}", flush=True)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
