"""Small ONNX files whose answers are written into their inputs, or that look at pictures."""

import math

import numpy as np
from onnx import TensorProto, helper

from models.onnx_networks import constant, save, value

INT64 = TensorProto.INT64


def echo(path, **outputs):
    """A model of rows whose outputs are the row's own numbers.

    Args:
        path: of the file.
        outputs: by name, the last operator and the shape of one answer; of ``Cast`` integers.
    """
    nodes, constants, start = [], [constant("zero", np.float32(0))], 0
    for name, (last, shape) in outputs.items():
        size = math.prod(shape)
        parts = {"from": [start], "to": [start + size], "axes": [1], "shape": [-1, *shape]}
        constants += [constant(f"{name}.{k}", np.array(v, np.int64)) for k, v in parts.items()]
        ends = [f"{name}.{k}" for k in ("from", "to", "axes")]
        nodes.append(helper.make_node("Slice", ["x", *ends], [f"{name}.part"]))
        nodes.append(helper.make_node("Reshape", [f"{name}.part", f"{name}.shape"], [f"{name}.r"]))
        more = {"Add": ["zero"]}.get(last, [])
        options = {"Cast": {"to": INT64}, "Softmax": {"axis": -1}}.get(last, {})
        nodes.append(helper.make_node(last, [f"{name}.r", *more], [name], **options))
        start += size
    given = [
        value(name, ["n", *shape], INT64 if last == "Cast" else TensorProto.FLOAT)
        for name, (last, shape) in outputs.items()
    ]
    return save(path, nodes, [value("x", ["n", start])], given, constants)


def rows_of(*answers):
    """The inputs to which :func:`echo` gives these answers."""
    return np.concatenate([a.reshape(len(a), -1) for a in answers], axis=1).astype(np.float32)


def of_brightness(path, weights, bias, last="Softmax", dtype=TensorProto.FLOAT):
    """Pictures ``(n, 3, 8, 8)``: scores of their brightness, then an operator."""
    nodes = [
        helper.make_node("Cast", ["picture"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["real"], ["m"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["m", "one"], ["c"]),
        helper.make_node("Gemm", ["c", "w", "b"], ["s"]),
        helper.make_node(last, ["s"], ["y"]),
    ]
    constants = [
        constant("one", np.array([1], np.int64)),
        constant("w", np.array([weights], np.float32)),
        constant("b", np.array(bias, np.float32)),
    ]
    given = [value("picture", ["n", 3, 8, 8], dtype)]
    return save(path, nodes, given, [value("y", ["n", len(bias)])], constants)


def by_table(path, rows):
    """Six integers: the mean of their rows of a table, as logits of three classes."""
    table = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["found"]),
        helper.make_node("ReduceMean", ["found"], ["logits"], axes=[1], keepdims=0),
    ]
    given, told = [value("ids", ["n", 6], INT64)], [value("logits", ["n", 3])]
    return save(path, nodes, given, told, [constant("table", table)])


def pictures(count=60):
    """Pictures, and whether each is bright (above 128)."""
    rng = np.random.default_rng(0)
    light = rng.permutation(np.linspace(60, 196, count))
    noise = rng.normal(0, 5, (count, 8, 8, 3))
    return np.clip(light[:, None, None, None] + noise, 0, 255).astype(np.uint8), (
        light > 128
    ).astype(np.int64)
