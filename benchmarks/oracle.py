"""What the oracle finds of faults seeded into copies of backends, and what it calls a fault.

    python benchmarks/oracle.py [--only WORD]

Each fault runs in a copy of PyTorch, TensorFlow, JAX or ONNX Runtime beside sound backends and the
float64 references. A fault counts where the copy's output differs from the sound backend's in any
bit, or the copy fails; it is found where the oracle blames the copy. False alarms are what the
oracle says of sound backends on the same models: each is listed, to be looked at by hand.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import polars
from numpy.typing import NDArray
from seeding.copies import COPY
from seeding.layer_faults import LAYER_FAULTS
from seeding.onnx_faults import ONNX_FAULTS, ONNX_MODELS

from asterism.core.messages.console import progress
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import FLOAT64, library_of, option_of
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.questions import QUESTIONS
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge
from asterism.differential.params import JudgeParams
from asterism.memo.graphs.graph import Graph

#: Workers find the copies, too.
ENVIRONMENT = {
    "ASTERISM_LIBRARIES": "seeding.copies",
    "PYTHONPATH": os.pathsep.join(sys.path[:2]),
}

JUDGE = JudgeParams(ulps=64, conditioning=8)

#: Sound backends: what is copied, one for each copy.
SOUND = {
    f"{COPY}pytorch": "pytorch:eager",
    f"{COPY}tensorflow": "tensorflow:eager",
    f"{COPY}jax": "jax:eager",
    f"{COPY}onnxruntime": "onnxruntime:keras_onnx",
}
#: Defects that the libraries really have, on these models: symptom, whom the oracle blames, and
#: what was seen when the case was looked at by hand.
DEFECTS = {
    ("error", "keras_onnx"): "the exporter fails on Keras' layer normalisation",
    ("error", "onnxruntime:keras_onnx"): "the exporter's file of a bidirectional layer has "
    "a node that ONNX Runtime rejects; PyTorch, JAX and TensorFlow run the model",
    ("NaN/Inf mask differs", "onnxruntime:keras_onnx"): "max pooling leaves out NaN, which NumPy, "
    "PyTorch and JAX hand on",
    ("NaN/Inf mask differs", "tensorflow:eager"): "max pooling leaves out NaN, as above",
    ("reference differs", "tensorflow:float64"): "the same in float64",
}

KERAS_COPIES = tuple(name for name in SOUND if name != f"{COPY}onnxruntime")


def cases() -> Iterator[tuple[str, Graph, tuple[str, ...], tuple[str, ...]]]:
    """Models with the inputs to run with, and the copies to run in."""
    alike: dict[tuple[str, str], tuple[Graph, set[str], list[str]]] = {}
    for name, fault in LAYER_FAULTS.items():
        graph = fault.graph()
        question = fault.shown_by if fault.shown_by in QUESTIONS else ""
        key = (str(graph.to_json()), question)
        known = alike.setdefault(key, (graph, set() if question else {"normal"}, []))
        known[1].add(fault.shown_by)
        known[2].extend(f"{copy}:{name}" for copy in KERAS_COPIES)
    for graph, distributions, copies in alike.values():
        yield copies[0].partition(":")[2], graph, tuple(sorted(distributions)), tuple(copies)
    copies = [f"{COPY}onnxruntime:keras_onnx+{fault}" for fault in ONNX_FAULTS]
    for name, graph in ONNX_MODELS.items():
        yield name, graph, ("nan", "normal"), tuple(copies)


def distribution_of(backend: str) -> str:
    """The inputs that show a copy's fault."""
    option = option_of(backend)
    if library_of(backend) in KERAS_COPIES:
        return LAYER_FAULTS[option].shown_by
    return str(ONNX_FAULTS[option.partition("+")[2]].get("shown_by", "normal"))


def asked(distributions: Iterable[str], backends: Iterable[str]) -> tuple[str, ...]:
    """The backends that can be asked for all of it."""
    if not set(distributions) & set(QUESTIONS):
        return tuple(backends)
    return tuple(b for b in backends if LIBRARIES[library_of(b)].differentiates)


def only(result: Result, distribution: str, *backends: str) -> Result:
    """What some backends did with one kind of inputs."""
    kept = [b for b in result.outcomes if b in backends]
    return Result(
        result.index,
        (distribution,),
        {b: result.outcomes[b] for b in kept},
        {b: {distribution: result.outputs[b][distribution]} for b in kept if b in result.outputs},
    )


def differ(one: list[NDArray[Any]], other: list[NDArray[Any]]) -> bool:
    """Whether outputs differ in any bit."""
    return len(one) != len(other) or any(
        a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes()
        for a, b in zip(one, other, strict=True)
    )


def main() -> None:
    """Run all faults and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="models whose name has this word")
    given = parser.parse_args()
    chosen = [case for case in cases() if given.only in case[0]]
    copies = sorted({copy for case in chosen for copy in case[3]})
    clean = tuple(SOUND.values())
    sound = {*FLOAT64, *clean, "keras_onnx"}
    faults: list[tuple[str, str, bool]] = []
    alarms, judged, missed, gone = [], 0, [], []
    with WorkerPool(
        (*FLOAT64, *clean, *copies), WorkerLimits(120.0, 3000), environment=ENVIRONMENT
    ) as pool:
        tasks = [
            Task(
                at,
                graph,
                {d: sample_inputs(graph, 0, at, d) for d in distributions},
                backends=asked(distributions, (*FLOAT64, *clean, *wanted)),
            )
            for at, (_, graph, distributions, wanted) in enumerate(chosen)
        ]
        for result in progress(pool.run_all(tasks), total=len(tasks), label="oracle", unit="model"):
            name, graph, distributions, wanted = chosen[result.index]
            for distribution in distributions:
                part = only(result, distribution, *sound)
                judged += sum(b in part.outputs for b in clean)
                said = judge(graph, part, JUDGE, 0).findings
                alarms += [(name, distribution, f.symptom, f.backends) for f in said]
            for copy in wanted:
                distribution, original = distribution_of(copy), SOUND[library_of(copy)]
                if result.outcomes[copy].status in ("unsupported", "blocked"):
                    gone.append(f"{copy} on {name}: {result.outcomes[copy].message[:80]}")
                    continue
                if original not in result.outputs:
                    continue
                expected = result.outputs[original][distribution]
                actual = result.outputs.get(copy, {}).get(distribution)
                if actual is not None and not differ(actual, expected):
                    gone.append(f"{copy} on {name}: the output is the same")
                    continue
                part = only(result, distribution, *(sound - {original}), copy)
                blamed = {b for f in judge(graph, part, JUDGE, 0).findings for b in f.backends}
                fault = option_of(copy).rpartition("+")[2]
                faults.append((original, fault, copy in blamed))
                if copy not in blamed:
                    missed.append(f"{copy} on {name}")
    columns = ["copy of", "fault", "found"]
    table = polars.DataFrame(faults, columns, orient="row").group_by("copy of", maintain_order=True)
    print(table.agg(polars.len().alias("faults"), polars.col("found").sum()))
    found = sum(f[2] for f in faults) / max(len(faults), 1)
    print(f"{len({f[1] for f in faults})} different faults; found {found:.1%}")
    false = [a for a in alarms if (a[2], a[3][0]) not in DEFECTS]
    print(
        f"{judged} outputs of sound backends: {len(alarms)} findings, {len(false)} of them false "
        f"({len(false) / max(judged, 1):.2%})"
    )
    for missing in missed:
        print(f"missed: {missing}")
    for alarm in alarms:
        why = DEFECTS.get((alarm[2], alarm[3][0]), "FALSE")
        print(f"finding of {alarm[3][0]} on {alarm[0]}, {alarm[1]}: {alarm[2]}: {why}")
    print(f"{len(gone)} left out, since they change nothing there:")
    for line in gone:
        print(f"  {line}")


if __name__ == "__main__":
    main()
