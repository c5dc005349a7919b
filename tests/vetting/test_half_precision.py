"""What a file in 16-bit numbers says, beside the original's values and what ran here."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from asterism.core.files.records import record_as_json
from asterism.localisation.running import FilledRun, Stream, batches
from asterism.vetting.half_precision import compare_half_precision, describe_half_precision
from asterism.vetting.runtime_types import find_rounding_operators
from models.onnx_networks import linear
from onnx_texts import onnx_model

_DRAWN = np.random.default_rng(0)
ROWS = _DRAWN.uniform(0, 60, (50, 8)) * np.linspace(0.2, 1.2, 50)[:, np.newaxis]
ROWS = ROWS.astype(np.float32)
LARGEST = 65504


def squares():
    """The root of the mean of squares, which are summed before they are divided."""
    text = """(float[n,8] x) => (float[n,1] y) {
        [scaled] m = Mul (x, scale)
        [square] squares = Mul (m, x)
        [add_up] total = ReduceSum (squares, axes)
        [divide] ratio = Div (total, scale)
        [root] y = Sqrt (ratio)
    }"""
    return onnx_model(text, scale=np.float32(20), axes=np.array([1]))


def written(tmp_path, original, half):
    paths = tmp_path / "model.onnx", tmp_path / "half.onnx"
    for path, one in zip(paths, (original, half), strict=True):
        onnx.save(one, path)
    return paths


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_sums_beyond_the_range_are_named_and_counted(tmp_path, keep, size):
    files = written(tmp_path, squares(), convert_float_to_float16(squares(), keep_io_types=keep))
    found = compare_half_precision(*files, batches({"x": ROWS}, size))
    total = (20 * ROWS**2).sum(1)
    with np.errstate(over="ignore"):
        half = np.float16(np.float16(20 * ROWS) * np.float16(ROWS).astype(np.float32))
        summed = np.float16(half.astype(np.float32).sum(1))
    squares_beyond = (20 * ROWS**2 >= 65520).any(1).sum()
    assert 0 < squares_beyond < np.isinf(summed).sum() < 50
    assert [one.node for one in found.beyond] == ["square", "add_up"]
    assert [one.inputs for one in found.beyond] == [squares_beyond, (total >= 65520).sum()]
    assert found.beyond[1].largest == pytest.approx(total.max(), rel=1e-5)
    assert (found.inputs, found.inputs_beyond) == (50, (total >= 65520).sum())
    assert found.unanswered == np.isinf(summed).sum()
    assert {one.node for one in found.ran_otherwise} >= {"square", "add_up", "root"}
    assert {one.type_run for one in found.ran_otherwise} == {"float32"}
    assert json.loads(json.dumps(record_as_json(found)))["types"] == ["float16"]
    assert any("add_up" in line and str(LARGEST) in line for line in describe_half_precision(found))


def test_nodes_that_stay_in_32_bits_ran_as_they_are(tmp_path):
    half = convert_float_to_float16(squares(), op_block_list=["Sqrt"])
    assert "Cast" in {node.op_type for node in half.graph.node}
    found = compare_half_precision(*written(tmp_path, squares(), half), batches({"x": ROWS}, 7))
    nodes = {one.node for one in found.ran_otherwise}
    assert {"square", "add_up"} <= nodes <= {"scaled", "square", "add_up", "divide"}


def test_values_within_the_range_are_no_matter(tmp_path):
    files = written(tmp_path, squares(), convert_float_to_float16(squares()))
    found = compare_half_precision(*files, batches({"x": ROWS / 20}, 10))
    assert (found.beyond, found.inputs_beyond, found.unanswered, found.constants) == ((), 0, 0, ())


def masked():
    """Where x is 0, a large negative number keeps the softmax from looking."""
    text = """(float[n,8] x) => (float[n,8] y) {
        [clipped] seen = Clip (x, zero, one)
        [turn] hidden = Sub (one, seen)
        [hide] mask = Mul (hidden, least)
        [add] scores = Add (x, mask)
        [softmax] y = Softmax (scores)
    }"""
    least = np.finfo(np.float32).min
    return onnx_model(text, zero=np.float32(0), one=np.float32(1), least=least)


def with_constant(half, name, value):
    for tensor in half.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(np.float16(value), name))
    return half


def test_a_mask_of_minus_infinity_is_found_and_one_of_minus_10000_is_fine(tmp_path):
    x = np.where(ROWS > 30, ROWS / 30, 0).astype(np.float32)
    x[:, 0] = 1
    half = convert_float_to_float16(masked())
    fine = compare_half_precision(*written(tmp_path, masked(), half), batches({"x": x}, 8))
    assert (fine.beyond, fine.unanswered, fine.constants) == ((), 0, ())
    half = with_constant(half, "least", -np.inf)
    found = compare_half_precision(*written(tmp_path, masked(), half), batches({"x": x}, 8))
    (lost,) = found.constants
    assert (lost.tensor, lost.becomes, lost.count) == ("least", "-inf", 1)
    assert [one.node for one in found.beyond] == ["hide", "add"]
    assert found.unanswered == 50, "0 times infinity is no number"
    half = with_constant(half, "least", 0)
    found = compare_half_precision(*written(tmp_path, masked(), half), batches({"x": x}, 8))
    assert [one.becomes for one in found.constants] == ["0"]


def test_filled_up_items_are_not_counted_and_calls_of_a_stream_are_one(tmp_path):
    files = written(tmp_path, squares(), convert_float_to_float16(squares()))
    large = np.full((4, 8), 60, np.float32)
    found = compare_half_precision(*files, [FilledRun({"x": large}, 3)])
    assert (found.inputs, found.inputs_beyond, found.unanswered) == (3, 3, 3)
    late = Stream({"x": large * 0}, [{"x": large}], {})
    found = compare_half_precision(*files, [late])
    assert (found.inputs, found.inputs_beyond, found.unanswered) == (4, 4, 4)


def test_bfloat16_has_the_range_of_32_bits(tmp_path):
    half = convert_float_to_float16(squares(), keep_io_types=True)
    kind = TensorProto.BFLOAT16
    for tensor in half.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT16:
            wide = np.asarray(numpy_helper.to_array(tensor)).astype(ml_dtypes.bfloat16)
            tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
    for node in half.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT16:
                attribute.i = kind
    del half.graph.value_info[:]
    files = written(tmp_path, squares(), half)
    found = compare_half_precision(*files, batches({"x": ROWS}, 10))
    assert (found.types, found.beyond) == (("bfloat16",), ())
    assert found.unanswered == 0


def test_a_file_in_32_bits_is_no_matter_of_this(tmp_path):
    files = written(tmp_path, squares(), squares())
    assert compare_half_precision(*files, batches({"x": ROWS}, 10)) is None


def test_operators_that_round_by_themselves_are_told(tmp_path):
    weight = np.random.default_rng(1).normal(size=(8, 8)).astype(np.float32)
    float_file, small = linear(tmp_path / "model.onnx", weight), tmp_path / "small.onnx"
    quantize_dynamic(float_file, small)
    assert find_rounding_operators(float_file) == []
    (found,) = find_rounding_operators(small)
    assert found.made_here and "8 bits" in found.how
