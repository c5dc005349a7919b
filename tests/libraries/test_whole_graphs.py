"""PyTorch models compiled as one graph: a program for each shape, and the same answers."""

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import REFERENCES
from asterism.libraries.adapters.questions import RESIZED
from asterism.libraries.adapters.whole_graphs import WHOLE, by_shape
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.oracle import judge
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.reproducer import script_of
from asterism.libraries.running.inputs import sample_inputs
from asterism.libraries.running.tasks import Task
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

GRAPH = sequential(
    Tensor((4, 3)),
    [layer("LSTM", units=2, return_sequences=True), layer("Conv1D", filters=2, kernel_size=[2])],
)


def doubling(compiled):
    """What compiles a function that doubles its inputs, and notes for which shapes."""

    def double(given):
        compiled.append([i.shape for i in given])
        return lambda *inputs: [2 * i for i in inputs]

    return double


def test_a_function_is_compiled_once_for_each_shape():
    compiled = []
    call = by_shape(doubling(compiled))
    one, two = np.ones((1, 3)), np.ones((2, 3))
    assert call(one)[0].tolist() == [[2, 2, 2]]
    assert call([one])[0].shape == (1, 3) and call(two, training=False)[0].shape == (2, 3)
    assert [o.shape for o in call((one, two))] == [(1, 3), (2, 3)]
    assert compiled == [[(1, 3)], [(2, 3)], [(1, 3), (2, 3)]]


def test_a_function_of_free_batches_is_compiled_once_for_those_of_more_than_one_item():
    compiled = []
    call = by_shape(doubling(compiled), free=True)
    for batch in (2, 5, 1, 0, 3):
        assert call(np.ones((batch, 3)))[0].shape == (batch, 3)
    call(np.ones((2, 4)))
    assert compiled == [[(2, 3)], [(1, 3)], [(0, 3)], [(2, 4)]]


@pytest.mark.slow
def test_recurrent_layers_and_other_batches_give_what_eager_runs_give():
    backends = ("pytorch:eager", *(f"pytorch:{option}" for option in WHOLE))
    with WorkerPool((*REFERENCES, *backends), Limits(300.0, 6000)) as pool:
        assert pool.start() == {}
        inputs = {kind: sample_inputs(GRAPH, 0, 0, kind) for kind in ("normal", RESIZED)}
        result = pool.run(Task(0, GRAPH, inputs))
        gradient = pool.run(Task(0, GRAPH, {"gradient": inputs["normal"]}))
    assert {outcome.status for outcome in result.outcomes.values()} == {"ok"}
    without = {b for b, outcome in gradient.outcomes.items() if outcome.status == "unsupported"}
    assert without == {"numpy:float64", "pytorch:aot_inductor"}
    assert {o.status for b, o in gradient.outcomes.items() if b not in without} == {"ok"}
    for ran in (result, gradient):
        assert judge(GRAPH, ran, JudgeParams(ulps=64, conditioning=8), 0).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("option", WHOLE)
def test_a_script_compiles_the_whole_graph(option, tmp_path):
    found = Finding(0, "values differ", "run", "pytorch", (f"pytorch:{option}",), ("normal",))
    graph = sequential(Tensor((3,)), [layer("ReLU")])
    inputs = [np.array([[-1, 0, 2]], np.float32)]
    unique = UniqueFinding("s", found, graph, None, {0}, 1)
    script, statuses = tmp_path / "check.py", []
    for right in ([np.array([[0, 0, 2.0]])], [np.array([[0, 0, 3.0]])]):
        bounds = [np.full((1, 3), 1e-6)]
        script.write_text(script_of(unique, {}, {}, inputs, right, bounds))
        statuses.append(exit_status(script))
    assert statuses == [0, 1]
