"""Speed of the library lane: `python benchmarks/libraries.py generate|coverage|execute`.

Prints mutants a second of the generator alone, coverage at a given budget for every strategy, and
models a second through the libraries with where the time goes. Run it from the project's root on
a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asterism.core.parameters.params import ParameterSection, read_params
from asterism.core.running.footprint import processor_seconds
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.params import ExecuteParams
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import reduce_models
from asterism.memo.generating.params import GenerateParams
from asterism.memo.generating.strategies import run_campaign
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.graph import Graph

#: Six backends over four libraries, with the cheaper converter: for breadth per second.
FAST_BACKENDS = (
    "tensorflow:eager",
    "tensorflow:graph",
    "pytorch:eager",
    "onnxruntime:keras_onnx",
    "onnxruntime:keras_onnx_optimised",
    "openvino:keras_onnx",
)
#: Beside these, ``default`` are the backends of ``params.yaml``.
BACKENDS = {
    "fast": FAST_BACKENDS,
    "both": (
        *FAST_BACKENDS,
        "onnxruntime:tf2onnx",
        "onnxruntime:tf2onnx_optimised",
        "openvino:tf2onnx",
        "onnx2torch:tf2onnx",
        "onnx2pytorch:tf2onnx",
    ),
}
DEFAULT = "default"


class Params(ParameterSection):
    """What is read of ``params.yaml``."""

    reduce: ReduceParams
    generate: RewardedGenerateParams
    execute: ExecuteParams


def generate(params: GenerateParams, graphs: dict[str, Graph], count: int) -> None:
    """Models and mutations a second of the generator alone."""
    for mutations in (1, params.mutations):
        budget = params.model_copy(update={"models": count, "mutations": mutations})
        started = time.process_time()
        made = run_campaign(graphs, budget, 0, "memo")
        seconds = time.process_time() - started
        print(
            f"{len(made.mutants)} valid models of {mutations} mutation(s) in "
            f"{seconds:.1f} s of a processor: "
            f"{len(made.mutants) / seconds:.0f} models/s, "
            f"{mutations * len(made.mutants) / seconds:.0f} mutations/s"
        )


def coverage(params: GenerateParams, graphs: dict[str, Graph], count: int) -> None:
    """Coverage of so many models by each strategy."""
    budget = params.model_copy(update={"models": count})
    for strategy in ("memo", "memo_r", "memo_o", "cradle", "muffin"):
        rates = run_campaign(graphs, budget, 0, strategy).coverage.rates()
        print(f"{strategy:8} {count} models: {covered(rates)}")


def execute(params: Params, graphs: dict[str, Graph], asked: argparse.Namespace) -> None:
    """A campaign's models through the libraries: all of them, or those that the minutes allow.

    Those that together cover most for their cost come first. The minutes are of generation, too.
    """
    begun = time.perf_counter()
    budget = params.generate.model_copy(update={"models": asked.models})
    whole = run_campaign(graphs, budget, asked.seed, asked.strategy)
    made, order = [mutant.graph for mutant in whole.mutants], whole.choose_broadest(asked.first)
    print(f"{len(made)} models made and put into order in {time.perf_counter() - begun:.1f} s")
    backends = (
        tuple(params.execute.backends) if asked.backends == DEFAULT else BACKENDS[asked.backends]
    )
    worker_pools = [WorkerPool(backends, WorkerLimits(60, 3000)) for _ in range(asked.shards)]
    left, lock = iter(order), threading.Lock()
    outcomes: Counter[str] = Counter()
    with ThreadPoolExecutor(asked.shards) as pool:
        list(pool.map(WorkerPool.start, worker_pools))
        started, busy = time.perf_counter(), processor_seconds()
        deadline = begun + 60 * asked.minutes

        def tasks() -> Iterator[Task]:
            while time.perf_counter() < deadline:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                inputs = sample_inputs(made[number], 0, number, "normal")
                yield Task(number, made[number], {"normal": inputs})

        def run(worker_pool: WorkerPool) -> int:
            ended = 0
            for result in worker_pool.run_all(tasks()):
                ended += 1
                ended_as = (result.outcomes[r].status for r in backends if r in result.outcomes)
                outcomes.update(ended_as)
            return ended

        ran = sum(pool.map(run, worker_pools))
        seconds = time.perf_counter() - started
        busy = processor_seconds() - busy
    steps: dict[str, float] = {}
    for worker_pool in worker_pools:
        for backend, spent in worker_pool.seconds.items():
            steps[backend] = steps.get(backend, 0.0) + spent
        worker_pool.close()
    print(
        f"{ran} models of {asked.strategy} through {len(backends)} backends "
        f"with {asked.shards} set(s) "
        f"of workers in {seconds:.1f} s: {ran / seconds:.2f} models/s, "
        f"{outcomes['ok'] / seconds:.1f} runs/s, {busy / ran:.2f} s of a processor per model"
    )
    print(f"  two processors that do nothing else run {2 * 3600 * ran / busy:,.0f} models an hour")
    print(f"  runs that ended as {dict(outcomes.most_common())}")
    print(
        f"  coverage of these models: {covered(coverage_of(made[n] for n in order[:ran]).rates())}"
    )
    for backend, spent in sorted(steps.items(), key=lambda item: -item[1]):
        print(f"  {backend:32} {spent / ran:.3f} s a model")


def covered(rates: dict[str, float]) -> str:
    """Coverage by kind of element, in percent."""
    return ", ".join(
        f"{kind} {100 * rate:.1f}%" for kind, rate in rates.items() if kind != "models"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["generate", "coverage", "execute"])
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--first", type=int, help="of execute: the so many best")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of execute, at most")
    parser.add_argument("--strategy", default="memo", help="of execute")
    parser.add_argument("--seed", type=int, default=0, help="of execute: of the generator")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--backends", choices=[DEFAULT, *sorted(BACKENDS)], default="fast")
    arguments = parser.parse_args()
    params = read_params(Params)
    graphs = reduce_models(params.reduce, 0).models
    if arguments.what == "generate":
        generate(params.generate, graphs, arguments.models)
    elif arguments.what == "coverage":
        coverage(params.generate, graphs, arguments.models)
    else:
        execute(params, graphs, arguments)


if __name__ == "__main__":
    main()
