"""Graph passes of ONNX Runtime: named by its own log, disabled in turn, the one at fault found."""

import os
from pathlib import Path

import numpy as np
import onnxruntime.capi.onnxruntime_pybind11_state as binary
import pytest
from onnx import TensorProto, helper, numpy_helper

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.backends.onnxruntime import LEVELS, RULES, OnnxRuntime
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.triage.reproduction import Reproduction, ablate
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from libraries.faulty_copies import PASS
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
GRAPH = sequential(Tensor((4,)), [layer("Dense", units=3, activation="relu")])


def subject(folder, disabled=()):
    """A file with an identity, a product, a sum and a ReLU, all of which passes change."""
    rng = [[0.5, -1.0], [2.0, 0.25]]
    graph = helper.make_graph(
        [
            helper.make_node("Identity", ["x"], ["a"]),
            helper.make_node("MatMul", ["a", "w"], ["b"]),
            helper.make_node("Add", ["b", "c"], ["d"]),
            helper.make_node("Relu", ["d"], ["y"]),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", 2))],
        [
            numpy_helper.from_array(np_float(rng), "w"),
            numpy_helper.from_array(np_float([1.0, 2.0]), "c"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "tf2onnx.onnx").write_bytes(model.SerializeToString())
    return ModelUnderTest(folder, None, None, disabled=disabled)


def np_float(values):
    return np.array(values, np.float32)


def test_the_log_names_the_passes_of_each_level_and_the_rules_that_apply(tmp_path):
    adapter, model = OnnxRuntime(), subject(tmp_path)
    found = {ending: adapter.passes(model, f"tf2onnx{ending}") for ending in LEVELS}
    assert found[""] == ()
    assert found["_basic"] == ("EliminateIdentity", "MatMulAddFusion")
    assert found["_optimised"] == (*found["_basic"], "GemmActivationFusion")
    assert found["_extended"] == found["_optimised"] == found["_layout"]


def test_disabled_passes_change_nothing(tmp_path):
    adapter = OnnxRuntime()
    whole = adapter.passes(subject(tmp_path), "tf2onnx_optimised")
    for name in whole:
        model = subject(tmp_path, (name,))
        assert name not in adapter._changing(model, "tf2onnx_optimised", model.disabled)
        (y,) = adapter.run(adapter.compile(model, "tf2onnx_optimised"), [np_float([[1, 1]])])
        assert y.tolist() == [[3.5, 1.25]]


def test_every_rule_is_one_of_the_installed_library():
    content = Path(binary.__file__).read_bytes()
    assert [rule for rule in RULES if rule.encode() not in content] == []


@pytest.mark.slow
def test_the_pass_of_a_faulty_copy_is_named():
    environment = {
        "ASTERISM_LIBRARIES": "libraries.faulty_copies",
        "PYTHONPATH": os.pathsep.join(["src", "tests"]),
    }
    faulty = "ort_with_a_faulty_pass:tf2onnx"
    sound = ("tensorflow:eager", "onnxruntime:tf2onnx_optimised")
    backends = (*FLOAT64, *sound, faulty, f"{faulty}_optimised")
    with WorkerPool(backends, Limits(120.0, 2000), environment=environment) as pool:
        # What is sound on the trivial model is kept; the faulty pass shows there, too, as values.
        assert pool.start() == {}
        show = Reproduction(pool, JUDGE, 0, 60)
        result = pool.run(show.task(0, GRAPH, ["normal"]))
        (finding,) = judge(GRAPH, result, JUDGE, 0).findings
        assert finding.backends == (f"{faulty}_optimised",)
        said = without_passes(show, finding, 40)
        assert said == {f"without {n}": "gone" if n == PASS else "shows" for n in passes_of(said)}
        assert said[f"without {PASS}"] == "gone" and len(said) > 1
        assert without_passes(show, finding, 0) == {}
        assert list(without_passes(show, finding, 1)) == list(said)[:1]


def without_passes(show, finding, most):
    said = ablate(show, GRAPH, finding, [], most)
    return {what: answer for what, answer in said.items() if what.startswith("without ")}


def passes_of(said):
    return [name.removeprefix("without ") for name in said]
