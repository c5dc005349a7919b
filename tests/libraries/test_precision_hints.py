"""Backends at a coarse precision: rounding that crosses a jump of a function is no bug."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import FLOAT64, coarsely_perturbed
from asterism.differential.engine.tasks import Task
from asterism.memo.graphs.graph import Node
from asterism.memo.graphs.store import write_weights
from libraries.small_results import chained, verdict_on
from libraries.small_runs import working
from memo.small_graphs import layer

HINTED = ("openvino:tf2onnx_bf16", "openvino:tf2onnx_f16")


def dense(activation):
    return chained((1,), layer("Dense", units=1, activation=activation))


@pytest.fixture(scope="module")
def worker_pool(tmp_path_factory):
    weights = tmp_path_factory.mktemp("weights") / "weights.npz"
    write_weights(weights, {})
    with working(("pytorch:eager", *HINTED, *FLOAT64), weights=weights) as made:
        yield made


def ran(worker_pool, graph, numbers):
    return worker_pool.run(Task(0, graph, {"normal": [np.float32(numbers)[:, None]]}))


@pytest.mark.slow
def test_a_jump_that_rounding_crosses_is_no_bug_and_a_wrong_value_beside_it_is(worker_pool):
    bias, slope = np.diff(
        ran(worker_pool, dense("linear"), [0, 1]).outputs["pytorch:float64"]["normal"][0][:, 0],
        prepend=0,
    )
    wanted = np.append(np.linspace(-0.5004, -0.5001, 5), [-2.0, 2.0])  # hard_shrink jumps at -0.5
    graph = dense("hard_shrink")
    result = ran(worker_pool, graph, (wanted - bias) / slope)
    for backend in HINTED:
        assert 0 in result.outputs[backend]["normal"][0][:5], "some cross the jump"
    verdict = verdict_on(graph, result)
    assert verdict.findings == [] and verdict.agreed == 3
    fine = {b: o for b, o in result.outputs.items() if b not in coarsely_perturbed()}
    assert verdict_on(graph, replace(result, outputs=fine)).findings, "it shows nowhere else"
    result.outputs[HINTED[0]]["normal"][0][-1] = 4.0
    (found,) = verdict_on(graph, result).findings
    assert (found.symptom, found.backends) == ("values differ", HINTED[:1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "backends", "asked"),
    [
        ("float32", ("pytorch:eager",), set()),
        ("float32", HINTED, {"bfloat16"}),
        ("float16", ("pytorch:eager",), {"float16"}),
    ],
)
def test_coarse_rounding_is_measured_only_where_something_rounds_so(
    worker_pool, dtype, backends, asked
):
    relu = Node("ReLU", {"dtype": dtype}, seed=0)
    graph = chained((4,), lambda _: relu, dtype=dtype)
    inputs = {"normal": [np.ones((1, 4), dtype)]}
    result = worker_pool.run(Task(0, graph, inputs, backends=(*backends, *FLOAT64)))
    ran = [run for run in coarsely_perturbed() if run in result.outputs]
    assert {coarsely_perturbed()[run] for run in ran} == asked and len(ran) == 2 * len(asked)
