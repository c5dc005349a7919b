"""Special numbers among a model's weights: probed and judged as those among its inputs."""

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64, OF_GRAPHS
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import SPECIAL, Graph, WeightEdit, sequential
from asterism.memo.graphs.special_weights import KINDS, kinds_among, special_kinds
from asterism.memo.graphs.store import write_weights
from asterism.memo.graphs.weights import layer_weights
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
PLAIN = sequential(
    Tensor((4,)), [layer("Dense", units=3), layer("Activation", activation="hard_shrink")]
)


def with_edit(seed):
    """A dense layer with one special weight, before a function that gives 0 for NaN, or NaN."""
    nodes = dict(PLAIN.nodes)
    dense = nodes[PLAIN.layers[0]]
    nodes[PLAIN.layers[0]] = type(dense)(
        dense.type, dense.config, dense.inputs, edits=(WeightEdit(SPECIAL, seed),), seed=dense.seed
    )
    return Graph(nodes)


#: An edit of each kind.
SEEDS = {
    kind: next(s for s in range(50) if special_kinds(with_edit(s)) == (kind,)) for _, kind in KINDS
}


@pytest.mark.parametrize("seed", range(12))
def test_the_kind_of_an_edit_is_that_of_the_weight_it_makes(seed):
    graph = with_edit(seed)
    variables = [("kernel", (4, 3)), ("bias", (3,))]
    arrays = layer_weights(graph.nodes[graph.layers[0]], variables, {})
    assert kinds_among(arrays) == special_kinds(graph) != ()
    assert special_kinds(PLAIN) == () and kinds_among([np.ones(2)]) == ()


def test_tasks_with_special_weights_are_probed_and_questions_are_not(tmp_path):
    graph = with_edit(SEEDS["nan"])
    assert Task(0, graph, {"normal": []}).is_probed and not Task(0, PLAIN, {"normal": []}).is_probed
    assert not Task(0, graph, {"gradient": []}).is_probed
    assert Task(0, PLAIN, {"infinity": []}).is_probed
    path = tmp_path / "weights.npz"
    write_weights(path, {"a": [("kernel", np.array([[1, np.inf]], np.float32))]})
    task = Task(0, PLAIN, {"normal": []}, weights=path)
    assert task.special == ("infinity",) and task.is_probed


def made(graph, given, special=()):
    """The references shrink NaN to 0, which the probes do not; one backend gives something else."""
    right, high, low = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))
    high[:, 0], low[:, 0] = 1e4, -3e3
    result = Result(0, ("normal",), special=special)
    outputs = dict.fromkeys(FLOAT64, right) | dict(zip(OF_GRAPHS.probes, (high, low), strict=True))
    outputs |= {"jax:jit": right.astype(np.float32), "litert:tflite": given.astype(np.float32)}
    for backend, output in outputs.items():
        result.outcomes[backend] = ExecutionOutcome(0, backend, "run", "ok")
        result.outputs[backend] = {"normal": [output]}
    verdict = judge(graph, result, JUDGE, 0)
    return [f.symptom for f in verdict.findings], [f.symptom for f in verdict.apart]


def test_a_number_or_nan_where_a_weight_is_nan_is_open_and_other_elements_are_not():
    graph, nan = with_edit(SEEDS["nan"]), np.zeros((2, 3))
    nan[:, 0] = np.nan
    assert made(graph, nan) == ([], ["special value handling"])
    assert made(PLAIN, nan) == (["NaN/Inf mask differs"], [])
    assert made(PLAIN, nan, special=("nan",)) == ([], ["special value handling"])
    assert made(graph, np.ones((2, 3))) == (["values differ"], [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_the_probes_run_with_finite_weights(kind):
    graph = with_edit(SEEDS[kind])
    task = Task(0, graph, {"normal": sample_inputs(graph, 0, 0, "normal")})
    with WorkerPool(FLOAT64, Limits(60.0, 2000)) as pool:
        assert pool.start() == {}
        result = pool.run(task)
        again = pool.run(Task(1, PLAIN, task.inputs))
    assert {o.status for o in result.outcomes.values()} == {"ok"}
    high, low = (result.outputs[name]["normal"][0] for name in OF_GRAPHS.probes)
    assert np.isfinite(high).all() and np.isfinite(low).all() and (high != low).any()
    assert not set(again.outputs) & set(OF_GRAPHS.probes)
    assert judge(graph, result, JUDGE, 0).findings == []
