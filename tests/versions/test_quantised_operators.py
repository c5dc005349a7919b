"""Operators that quantise: the reference beside ONNX Runtime, and the bound of one step."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper
from small_files import run_file

from asterism.comparing.cases import UpgradePair, judge_upgrade
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.engine.tasks import GivenFile, Task
from asterism.differential.reference.runs import STEPPED
from asterism.differential.subjects.onnx_file import make_subject
from libraries.small_results import JUDGE, made_result

RNG = np.random.default_rng(0)
PAIR = UpgradePair("onnxruntime:file", "onnxruntime:file_optimised")
ZERO = np.uint8(120)


def scale(value):
    return np.float32(value)


def integers(*shape, kind=np.uint8):
    """Of 8 bits; signed ones of 7, as some processors cut off sums of larger products."""
    low, high = (0, 256) if kind is np.uint8 else (-64, 64)
    return RNG.integers(low, high, shape).astype(kind)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


Q = integers(3, 8)
#: Operator, inputs (the first one is given when it runs), attributes, and number of outputs.
CASES = {
    "4 bits": ("MatMulNBits", [floats(3, 70), integers(5, 3, 16), floats(15)],
               {"K": 70, "N": 5, "bits": 4, "block_size": 32}, 1),
    "4 bits with zero points": ("MatMulNBits", [floats(3, 64), integers(5, 2, 16), floats(10),
                                                integers(5)],
                                {"K": 64, "N": 5, "bits": 4, "block_size": 32}, 1),
    "8 bits": ("MatMulNBits", [floats(3, 64), integers(5, 2, 32), floats(10)],
               {"K": 64, "N": 5, "bits": 8, "block_size": 32}, 1),
    "activations of 8 bits": ("MatMulNBits", [floats(3, 64), integers(5, 2, 16), floats(10)],
                              {"K": 64, "N": 5, "bits": 4, "block_size": 32,
                               "accuracy_level": 4}, 1),
    "dynamic": ("DynamicQuantizeMatMul", [floats(3, 8), integers(8, 5, kind=np.int8),
                                          floats(5) ** 2 + scale(0.1)], {}, 1),
    "integers": ("MatMulIntegerToFloat", [Q, integers(8, 5), scale(0.1), scale(0.2), ZERO, ZERO],
                 {}, 1),
    **{way: ("DynamicQuantizeLSTM", [
        floats(6, 2, 5), integers(n, 5, 16, kind=np.int8), integers(n, 4, 16, kind=np.int8),
        floats(n, 32), None, None, None, None, np.full((n, 16), 0.01, np.float32),
        np.zeros((n, 16), np.int8), np.full((n, 16), 0.01, np.float32), np.zeros((n, 16), np.int8),
    ], {"hidden_size": 4, "direction": way}, 3)
       for way, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2))},
    "sum": ("QLinearAdd", [Q, scale(0.1), ZERO, integers(1, 8), scale(0.05), ZERO, scale(0.2),
                           ZERO], {}, 1),
    "product": ("QLinearMul", [Q, scale(0.1), ZERO, integers(3, 8), scale(0.05), ZERO, scale(0.7),
                               ZERO], {}, 1),
    "sigmoid": ("QLinearSigmoid", [Q, scale(0.02), ZERO, scale(1 / 256), np.uint8(0)], {}, 1),
    "leaky": ("QLinearLeakyRelu", [Q, scale(0.02), ZERO, scale(0.02), ZERO], {"alpha": 0.2}, 1),
    "mean": ("QLinearGlobalAveragePool", [integers(2, 3, 4, 5), scale(0.1), ZERO, scale(0.1),
                                          ZERO], {"channels_last": 0}, 1),
    "quantised": ("QuantizeLinear", [floats(3, 40), scale(0.05), ZERO], {}, 1),
    "numbers": ("DequantizeLinear", [Q, floats(8) ** 2, integers(8)], {"axis": 1}, 1),
    "convolved": ("QLinearConv", [integers(1, 2, 6, 6), scale(0.1), ZERO,
                                  integers(3, 2, 3, 3, kind=np.int8), scale(0.05), np.int8(3),
                                  scale(0.8), ZERO], {}, 1),
    "multiplied": ("QLinearMatMul", [Q, scale(0.1), ZERO, integers(8, 5), scale(0.1), ZERO,
                                     scale(1.5), ZERO], {}, 1),
}  # fmt: skip


def model_of(operator, inputs, attributes, outputs):
    """A model of one operator whose first input is given; the others are constants."""
    names = ["x", *("" if array is None else f"c{i}" for i, array in enumerate(inputs[1:]))]
    constants = [numpy_helper.from_array(np.asarray(a), n)
                 for a, n in zip(inputs[1:], names[1:], strict=True) if n]  # fmt: skip
    made = [f"y{i}" for i in range(outputs)]
    theirs = ("DequantizeLinear", "QuantizeLinear", "QLinearConv", "QLinearMatMul")
    domain = "" if operator in theirs else "com.microsoft"
    node = helper.make_node(operator, names, made, "node", domain=domain, **attributes)
    kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    graph = helper.make_graph(
        [node],
        "small",
        [helper.make_tensor_value_info("x", kind, inputs[0].shape)],
        [onnx.ValueInfoProto(name=name) for name in made],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def judged(name, folder, change=lambda outputs: outputs):
    """What is said of ONNX Runtime's answer, and of one that is changed."""
    operator, inputs, attributes, count = CASES[name]
    model = model_of(operator, inputs, attributes, count)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = session.run(None, {"x": inputs[0]})
    outputs = {PAIR.old: given, PAIR.new: change(given)}
    wide = inputs[0].astype(np.float64) if inputs[0].dtype.kind == "f" else inputs[0]
    for option in ("float64", STEPPED):
        ran = run_file(model.SerializeToString(), [wide], folder, option=option)
        outputs[f"{OF_ONNX.library}:{option}"] = ran
    subject = make_subject("m", model, 4, {})
    assert subject.quantises == (operator != "DequantizeLinear")
    return judge_upgrade(subject, made_result(outputs), PAIR, "normal", JUDGE).kind


@pytest.mark.parametrize("name", CASES)
def test_the_reference_computes_what_onnx_runtime_does_and_zeros_are_wrong(name, tmp_path):
    assert judged(name, tmp_path) in ("same", "within rounding")
    assert judged(name, tmp_path, lambda given: [np.zeros_like(y) for y in given]) == "now wrong"


@pytest.mark.parametrize(("steps", "kind"), [(1, "within rounding"), (3, "now wrong")])
def test_one_step_is_the_bound_of_what_is_quantised(steps, kind, tmp_path):
    def moved(outputs):
        off = outputs[0].astype(int)
        off.flat[0] += steps if off.flat[0] < 200 else -steps
        return [off.astype(np.uint8)]

    for name in ("quantised", "sum", "convolved"):
        assert judged(name, tmp_path, moved) == kind


def test_two_runs_of_what_quantises_by_itself_may_be_a_step_apart_without_a_reference():
    model = model_of(*CASES["forward"])
    subject = make_subject("m", model, 4, {})
    given = [RNG.uniform(-1, 1, (6, 1, 2, 4)).astype(np.float32)] * 3
    for far, kind in ((1 / 400, "within rounding"), (0.2, "differs")):
        outputs = {PAIR.old: given, PAIR.new: [output + np.float32(far) for output in given]}
        assert judge_upgrade(subject, made_result(outputs), PAIR, "normal", JUDGE).kind == kind


def test_the_run_off_by_a_step_is_asked_for_where_something_quantises():
    arrays = {"normal": [np.zeros(3, np.float32)]}
    steps = [Task(0, GivenFile(b"", ".onnx", q), arrays).dtypes for q in (False, True)]
    assert steps[1] - steps[0] == {"quantisation step"}
