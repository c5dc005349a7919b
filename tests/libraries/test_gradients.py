"""Gradients as the oracle compares them: every library's against finite differences."""

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import OF_GRAPHS, REFERENCES
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.engine.execution import execute
from asterism.differential.engine.inputs import compared_nodes, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.oracle.finding import defect_signature
from asterism.memo.graphs.graph import Graph, input_node
from libraries.small_results import chained, made_finding, verdict_on
from libraries.small_runs import cotangent, differentiating, task_of
from memo.small_graphs import layer

#: Those that differentiate: all but the NumPy reference.
BACKENDS = POOL = (
    "tensorflow:eager",
    "pytorch:eager",
    "jax:jit",
    *differentiating((*REFERENCES, *OF_GRAPHS.perturbed["float32"])),
)
GRAPH = chained((5,), layer("Dense", units=4, activation="tanh"), layer("Softmax", axis=-1))
EMBEDDED = Graph({0: input_node((3,), "int32"), 1: input_node((3,))})
INTEGERS = chained((3,), layer("Embedding", input_dim=5, output_dim=2), dtype="int32")


def weighted(outputs):
    return sum((o.astype(np.float64) * cotangent(o.shape)).sum() for o in outputs)


@pytest.mark.slow
def test_every_library_gives_the_derivative_of_the_weighted_outputs(worker_pool):
    (inputs,) = sample_inputs(GRAPH, 0, 0, "gradient")
    result = worker_pool.run(Task(0, GRAPH, {"gradient": [inputs]}))
    assert verdict_on(GRAPH, result).findings == []
    step = 1e-2  # float32's own rounding of the inputs must not matter
    expected = np.empty(inputs.shape)
    for at in np.ndindex(inputs.shape):
        values = []
        for sign in (1, -1):
            moved = inputs.copy()
            moved[at] += np.float32(sign * step)
            given = {"normal": [moved]}
            run = worker_pool.run(Task(0, GRAPH, given, backends=("pytorch:float64",)))
            values.append((weighted(run.outputs["pytorch:float64"]["normal"]), float(moved[at])))
        (high, right), (low, left) = values
        expected[at] = (high - low) / (right - left)
    for backend in BACKENDS:
        (gradient,) = result.outputs[backend]["gradient"]
        assert gradient.dtype == (np.float32 if backend in BACKENDS[:3] else np.float64)
        np.testing.assert_allclose(gradient, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.slow
def test_a_model_of_integers_is_not_differentiated(worker_pool):
    record = execute([INTEGERS, GRAPH], worker_pool, ["normal", "gradient"], 0)
    done = [(task["index"], task["distributions"]) for task in record.tasks()]
    assert done == [(0, ["normal"]), (1, ["normal"]), (1, ["gradient"])]
    result = worker_pool.run(task_of(INTEGERS, "gradient"))
    assert verdict_on(INTEGERS, result).findings == []
    assert {r: result.outputs[r]["gradient"] for r in BACKENDS} == {r: [] for r in BACKENDS}


def test_integers_have_no_gradient():
    assert compared_nodes(EMBEDDED, ("gradient",)) == [1]
    assert compared_nodes(GRAPH, ("normal",)) == list(GRAPH.outputs)


def test_a_defect_of_gradients_is_another_than_one_of_values():
    values, gradients = (made_finding(kind=kind) for kind in ("normal", "gradient"))
    assert defect_signature(values, "Dense()") != defect_signature(gradients, "Dense()")


@pytest.mark.parametrize("name", [n for n in LIBRARIES if not LIBRARIES[n].differentiates])
def test_the_others_say_that_they_have_none(name):
    with pytest.raises(NotImplementedError, match="hessian is not supported"):
        LIBRARIES[name]().question("file", "hessian")
