"""ONNX files that compute for years: a Loop with a huge number of turns."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TURNS = 2**62

#: No image that a model is probed with at opening lies between these.
LIMITS = (0.5, 0.99)


def _loop(source, target, turns):
    """A Loop that adds zero to a tensor again and again."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes"]),
            helper.make_node("Add", ["value", "zero"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, None),
        ],
        [numpy_helper.from_array(np.float32(0), "zero")],
    )
    return helper.make_node("Loop", [turns, "", source], [target], body=body)


def _turns_where_bright(source):
    """Nodes that give :data:`TURNS` where all of a batch lies between the limits, else one."""
    return [
        helper.make_node("ReduceMin", [source], ["darkest"], keepdims=0),
        helper.make_node("ReduceMax", [source], ["brightest"], keepdims=0),
        helper.make_node("Greater", ["darkest", "least"], ["is_bright"]),
        helper.make_node("Less", ["brightest", "most"], ["is_not_white"]),
        helper.make_node("And", ["is_bright", "is_not_white"], ["hangs"]),
        helper.make_node("Where", ["hangs", "many", "once"], ["turns"]),
    ]


def _save(nodes, inputs, outputs, constants, path):
    constants = {"many": np.int64(TURNS), "once": np.int64(1)} | constants
    graph = helper.make_graph(
        nodes,
        "endless",
        inputs,
        outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def endless_classifier(path, limits=LIMITS):
    """Takes images (N, 8, 8, 1) and gives 4 probabilities.

    It never ends on a batch whose values all lie between the limits.
    """
    rng = np.random.default_rng(0)
    nodes = [
        *_turns_where_bright("images"),
        _loop("images", "looped", "turns"),
        helper.make_node("Flatten", ["looped"], ["flat"]),
        helper.make_node("MatMul", ["flat", "kernel"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
    ]
    constants = {
        "least": np.float32(limits[0]),
        "most": np.float32(limits[1]),
        "kernel": rng.normal(size=(64, 4)).astype(np.float32),
    }
    shape = ["n", 8, 8, 1]
    inputs = [helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 4])]
    return _save(nodes, inputs, outputs, constants, path)


def endless_rnn(path, limits=LIMITS, features=8, classes=10):
    """A network over sequences (N, T, F); endless on values between the limits.

    The name of its states is ``states``.
    """
    rng = np.random.default_rng(0)
    nodes = [
        *_turns_where_bright("rows"),
        _loop("rows", "looped", "turns"),
        helper.make_node("MatMul", ["looped", "kernel"], ["states"]),
        helper.make_node("ReduceMean", ["states"], ["pooled"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["pooled", "read_out"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
    ]
    constants = {
        "least": np.float32(limits[0]),
        "most": np.float32(limits[1]),
        "kernel": rng.normal(size=(features, 5)).astype(np.float32),
        "read_out": rng.normal(size=(5, classes)).astype(np.float32),
    }
    inputs = [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", "t", features])]
    outputs = [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", classes])]
    return _save(nodes, inputs, outputs, constants, path)
