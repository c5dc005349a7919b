"""Small ONNX files whose answers are written into their inputs, or that look at pictures."""

import math

import numpy as np
from onnx import TensorProto, helper

from models.onnx_networks import constant, save, value
from onnx_texts import write_onnx

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


def pair_of(folder, inputs, labels=None, **outputs):
    """Two equal models by :func:`echo`, and inputs that hold their answers, as a request has them.

    Without outputs there are no models, only what they will be called.
    """
    pair = {name: folder / f"{name}.onnx" for name in ("original", "compressed")}
    for path in pair.values():
        if outputs:
            echo(path, **outputs)
    arrays = {"inputs": inputs} | ({} if labels is None else {"labels": labels})
    np.savez(folder / "inputs.npz", **arrays)
    return pair | {"inputs": folder / "inputs.npz"}


def of_brightness(path, weights, bias, last="Softmax", dtype="float"):
    """Pictures ``(n, 3, 8, 8)``: scores of their brightness, then an operator."""
    text = f"""({dtype}[n,3,8,8] picture) => (float[n,{len(bias)}] y) {{
        real = Cast <to=1> (picture)
        m = ReduceMean <axes=[1,2,3], keepdims=0> (real)
        c = Unsqueeze (m, one)
        s = Gemm (c, w, b)
        y = {last} (s)
    }}"""
    w, b = np.array([weights], np.float32), np.array(bias, np.float32)
    return write_onnx(path, text, one=np.array([1]), w=w, b=b)


def by_table(path, rows):
    """Six integers: the mean of their rows of a table, as logits of three classes."""
    table = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    text = """(int64[n,6] ids) => (float[n,3] logits) {
        found = Gather (table, ids)
        logits = ReduceMean <axes=[1], keepdims=0> (found)
    }"""
    return write_onnx(path, text, table=table)


def pictures(count=60):
    """Pictures, and whether each is bright (above 128)."""
    rng = np.random.default_rng(0)
    light = rng.permutation(np.linspace(60, 196, count))
    noise = rng.normal(0, 5, (count, 8, 8, 3))
    return np.clip(light[:, None, None, None] + noise, 0, 255).astype(np.uint8), (
        light > 128
    ).astype(np.int64)
