"""Makers of model files on small files, and the small files themselves."""

import json

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from real_pairs.making import MAKERS, Material

from asterism.core.parameters.construction import options_of
from asterism.models.tensor_models.feeding import FeedingParams

FILE = {"package": "p", "path": "f", "sha256": "0" * 64}
RNG = np.random.default_rng(0)
FEEDING = FeedingParams(
    input=None, outputs=None, constants=[], step=None, context=0, pad=0, preprocessing=None
)


def make(name, source, target, options=(), **material):
    found = Material(
        material.get("calibration", lambda: []), lambda file: material["files"][file.path]
    )
    MAKERS[name].make(source, target, options_of(MAKERS, name, dict(options)), found)
    return target


def answers(path, feed):
    return onnxruntime.InferenceSession(path).run(None, feed)[0]


def save(path, nodes, inputs, outputs, constants, opset=17):
    values = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, values)
    sets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    return path


def convolution(path):
    weights = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w2"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 1, 1])]
    return save(path, nodes, inputs, outputs, {"w": weights}, opset=11)


def write_safetensors(path, tensors):
    header, content = {}, b""
    for name, values in tensors.items():
        end = len(content) + values.nbytes
        shape = list(values.shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(content), end]}
        content += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)
    return path
