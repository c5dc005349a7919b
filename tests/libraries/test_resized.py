"""Batches of a second size with one compiled model."""

import os

import pytest

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.adapters.questions import FIRST, RESIZED
from asterism.differential.engine.execution import _asked, _groups
from asterism.differential.engine.inputs import BATCH, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from libraries import faulty_copies  # noqa: F401  (registers them)
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
GRAPH = sequential(Tensor((4,)), [layer("Dense", units=3, activation="relu")])
BACKENDS = ("tensorflow:graph", "onnxruntime:tf2onnx", "ort_with_stale_shapes:tf2onnx")


def test_resized_inputs_are_a_task_of_their_own_for_backends_that_take_them():
    assert list(_groups(["normal", RESIZED, "wide"])) == [["normal", "wide"], [RESIZED]]
    assert _asked(("litert:tflite", *BACKENDS[:2]), [RESIZED]) == BACKENDS[:2]
    assert _asked(BACKENDS, ["normal"]) == BACKENDS
    (inputs,) = sample_inputs(GRAPH, 0, 0, RESIZED)
    assert len(inputs) not in (FIRST, BATCH)


@pytest.mark.slow
def test_a_stale_shape_is_found_by_a_second_size_only():
    environment = {
        "ASTERISM_LIBRARIES": "libraries.faulty_copies",
        "PYTHONPATH": os.pathsep.join(["src", "tests"]),
    }
    with WorkerPool((*FLOAT64, *BACKENDS), Limits(120.0, 2000), environment=environment) as pool:
        assert pool.start() == {}
        found = {
            d: judge(
                GRAPH, pool.run(Task(0, GRAPH, {d: sample_inputs(GRAPH, 0, 0, d)})), JUDGE, 0
            ).findings
            for d in ("normal", RESIZED)
        }
    assert found["normal"] == ()
    (finding,) = found[RESIZED]
    assert finding.backends == ("ort_with_stale_shapes:tf2onnx",)
