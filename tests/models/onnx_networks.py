"""Small ONNX networks: of one input, streaming, with a mask, on integers; and opened files."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import FileModel, OpeningRequest
from onnx_texts import write_onnx


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(path: Path, nodes, inputs, outputs, constants=()) -> Path:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def linear(path, weights, batch="batch"):
    """``x @ weights``, ``x`` float32 ``(N, F)``."""
    features, width = weights.shape
    text = f"(float[{batch},{features}] x) => (float[{batch},{width}] y) {{ y = MatMul (x, w) }}"
    return write_onnx(path, text, w=weights)


def linear_in_time(path, weights):
    """``x @ weights`` at each step, ``x`` float32 ``(N, T, F)``."""
    features, width = weights.shape
    text = f"(float[n,3,{features}] x) => (float[n,3,{width}] y) {{ y = MatMul (x, w) }}"
    return write_onnx(path, text, w=weights)


def streaming(path):
    """A decaying sum: ``state_out = 0.5 * state_in + mean(x)``, which is also the output."""
    text = """(float[n,4] x, float[n,1] state_in) => (float[n,1] y, float[n,1] state_out) {
        m = ReduceMean <axes = [1], keepdims = 1> (x)
        s = Mul (state_in, half)
        state_out = Add (s, m)
        y = Identity (state_out)
    }"""
    return write_onnx(path, text, half=np.float32(0.5))


def masked(path):
    """The sum of the token ids that the mask names, times ``factor``."""
    text = """(int64[n,6] input_ids, int64[n,6] attention_mask, int64 factor) => (float[n,1] y) {
        kept = Mul (input_ids, attention_mask)
        sum = ReduceSum <keepdims = 1> (kept, axis)
        scaled = Mul (sum, factor)
        y = Cast <to = 1> (scaled)
    }"""
    return write_onnx(path, text, axis=np.array([1]))


def mixing(path):
    """Each row less the mean of its batch: no row's result stands alone."""
    text = """(float[n,3] x) => (float[n,3] y) {
        m = ReduceMean <axes = [0], keepdims = 1> (x)
        y = Sub (x, m)
    }"""
    return write_onnx(path, text)


def quantised(path, weights):
    """:func:`linear` with weights of 8 bits."""
    scale = np.float32(np.abs(weights).max() / 127)
    text = f"""(float[n,{len(weights)}] x) => (float[n,{weights.shape[1]}] y) {{
        w = DequantizeLinear (q, scale, zero)
        y = MatMul (x, w)
    }}"""
    whole = np.rint(weights / scale).astype(np.int8)
    return write_onnx(path, text, q=whole, scale=scale, zero=np.int8(0))


def feeding(**changes):
    """Parameters of a model that takes its item alone, but for changes."""
    facts = {"input": None, "outputs": None, "constants": [], "step": None}
    facts |= {"context": 0, "pad": 0, "preprocessing": None}
    return FeedingParams(**facts | changes)


def opened(path, items, **changes):
    """A file that is tried with the items, which are images where they have four axes."""
    return FileModel(path, OpeningRequest(feeding(**changes), items.ndim == 4, items))
