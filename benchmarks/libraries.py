"""Speed of the library lane: `python benchmarks/libraries.py generate|coverage|execute`.

Prints mutants a second of the generator alone, coverage at a given budget for every strategy, and
models a second through the libraries with where the time goes. Run it from the project's root on
a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import psutil

from asterism.core.params import Section, read_params
from asterism.libraries.bench import Bench, Task
from asterism.libraries.handle import Limits
from asterism.libraries.inputs import draw_inputs
from asterism.memo.generate import campaign
from asterism.memo.graph import Graph
from asterism.memo.keras_read import graph_of
from asterism.memo.light_keras import import_keras
from asterism.memo.params import GenerateParams
from asterism.memo.reduce import reduce_model, renumbered
from asterism.memo.seeds import make_seed_model

#: Six routes over four libraries, with the cheaper converter: for breadth per second.
FAST_ROUTES = (
    "tensorflow:eager",
    "tensorflow:graph",
    "pytorch:eager",
    "onnxruntime:keras_onnx",
    "onnxruntime:keras_onnx_optimised",
    "openvino:keras_onnx",
)
#: The readers of the other converter's files.
TF2ONNX_ROUTES = (
    "onnxruntime:tf2onnx",
    "onnxruntime:tf2onnx_optimised",
    "openvino:tf2onnx",
    "onnx2torch:tf2onnx",
    "onnx2pytorch:tf2onnx",
)
ROUTES = {"fast": FAST_ROUTES, "tf2onnx": TF2ONNX_ROUTES, "both": (*FAST_ROUTES, *TF2ONNX_ROUTES)}


class Params(Section):
    """What is read of ``params.yaml``."""

    generate: GenerateParams


def seeds(names: list[str]) -> dict[str, Graph]:
    return {n: renumbered(reduce_model(graph_of(make_seed_model(n, 0), 16)[0])) for n in names}


def generate(params: GenerateParams, graphs: dict[str, Graph], count: int) -> None:
    for mutations in (1, params.mutations):
        budget = params.model_copy(update={"models": count, "mutations": mutations})
        started = time.perf_counter()
        made = campaign(graphs, budget, 0, "memo")
        seconds = time.perf_counter() - started
        print(
            f"{len(made.mutants)} valid models of {mutations} mutation(s) in {seconds:.1f} s: "
            f"{len(made.mutants) / seconds:.0f} models/s, "
            f"{mutations * len(made.mutants) / seconds:.0f} mutations/s"
        )


def coverage(params: GenerateParams, graphs: dict[str, Graph], count: int) -> None:
    budget = params.model_copy(update={"models": count})
    for strategy in ("memo", "memo_r", "memo_o", "cradle", "muffin"):
        rates = campaign(graphs, budget, 0, strategy).coverage.rates()
        shown = ", ".join(f"{kind} {100 * rate:.1f}%" for kind, rate in rates.items())
        print(f"{strategy:8} {count} models: {shown}")


def execute(
    params: GenerateParams,
    graphs: dict[str, Graph],
    count: int,
    shards: int,
    routes: tuple[str, ...],
) -> None:
    budget = params.model_copy(update={"models": count})
    models = [m.graph for m in campaign(graphs, budget, 0, "memo").mutants]
    benches = [Bench(routes, Limits(240, 3000)) for _ in range(shards)]
    with ThreadPoolExecutor(shards) as pool:
        list(pool.map(Bench.start, benches))
        started = time.perf_counter()
        busy = processor_seconds()

        def run(shard: int) -> int:
            tasks = (
                Task(i, g, {"normal": draw_inputs(g, 0, i, "normal")})
                for i, g in enumerate(models)
                if i % shards == shard
            )
            results = benches[shard].run_all(tasks)
            return sum(r.outcomes[route].status == "ok" for r in results for route in routes)

        done = sum(pool.map(run, range(shards)))
        seconds = time.perf_counter() - started
        busy = processor_seconds() - busy
    steps: dict[str, float] = {}
    for bench in benches:
        for route, spent in bench.seconds.items():
            steps[route] = steps.get(route, 0.0) + spent
        bench.close()
    print(
        f"{len(models)} models through {len(routes)} routes with {shards} set(s) of workers in "
        f"{seconds:.1f} s: {len(models) / seconds:.2f} models/s, {done / seconds:.1f} runs/s, "
        f"{busy / len(models):.2f} s of a processor per model"
    )
    for route, spent in sorted(steps.items(), key=lambda item: -item[1]):
        print(f"  {route:32} {spent / len(models):.3f} s a model")


def processor_seconds() -> float:
    """What this process and all below it have used so far."""
    me = psutil.Process()
    times = [p.cpu_times() for p in (me, *me.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["generate", "coverage", "execute"])
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--routes", choices=sorted(ROUTES), default="fast")
    parser.add_argument("--seeds", nargs="+", default=["lenet5", "alexnet", "lstm1", "lstm2"])
    arguments = parser.parse_args()
    import_keras("numpy")
    params, graphs = read_params(Params).generate, seeds(arguments.seeds)
    if arguments.what == "generate":
        generate(params, graphs, arguments.models)
    elif arguments.what == "coverage":
        coverage(params, graphs, arguments.models)
    else:
        execute(params, graphs, arguments.models, arguments.shards, ROUTES[arguments.routes])


if __name__ == "__main__":
    main()
