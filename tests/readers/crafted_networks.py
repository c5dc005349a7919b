"""Attacks by files of ONNX, LiteRT and PyTorch: data elsewhere, too much, names that are code."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import flatbuffers
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper, numpy_helper, parser

from readers.crafted import add
from readers.examples import OUTSIDE, Odd
from readers.formats import litert_edited, zipped

# ONNX ----------------------------------------------------------------------------------------


def onnx_edited(edit: Callable[[onnx.ModelProto], object], whole: bytes) -> bytes:
    model = onnx.ModelProto.FromString(whole)
    edit(model)
    return bytes(model.SerializeToString())


def external(model: onnx.ModelProto, **facts: object) -> bytes:
    """The first weights of a model in a file beside it, which is returned.

    Args:
        facts: other entries than the right ones: ``location``, ``offset``, ``length``.
    """
    tensor = model.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": "data.bin", "offset": 0, "length": len(data)} | facts
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return data


def by_entries_alone(model: onnx.ModelProto) -> None:
    """The location says that the data are inside, and entries name another file."""
    external(model)
    model.graph.initializer[0].data_location = TensorProto.DEFAULT


def by_location_alone(model: onnx.ModelProto) -> None:
    """The location says that the data are outside, and no entry says where."""
    external(model)
    del model.graph.initializer[0].external_data[:]


def _external_in_a_function(model: onnx.ModelProto) -> None:
    constant = helper.make_tensor("c", TensorProto.FLOAT, [1], [0.0])
    constant.ClearField("float_data")
    constant.data_location = TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="data.bin")
    node = helper.make_node("Constant", [], ["c"], value=constant)
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "f", [], ["c"], [node], opset))


def before(nodes: str, **constants: Any) -> Callable[[onnx.ModelProto], None]:
    """Nodes before all others, whose last value is the input that the others take."""

    def edit(model: onnx.ModelProto) -> None:
        images = model.graph.input[0].name
        made = parser.parse_graph(f"m (float x) => (float last) {{ {nodes} }}")
        for node in model.graph.node:
            node.input[:] = ["last" if name == images else name for name in node.input]
        for node in made.node:
            node.input[:] = [images if name == "images" else name for name in node.input]
        rest = [*model.graph.node]
        del model.graph.node[:]
        model.graph.node.extend([*made.node, *rest])
        many = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
        model.graph.initializer.extend(many)

    return edit


def _negative(model: onnx.ModelProto) -> None:
    model.graph.initializer.add(name="odd", data_type=TensorProto.FLOAT, dims=[-(10**6), 10**4])


def _sparse(model: onnx.ModelProto) -> None:
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    tensor = helper.make_sparse_tensor(values, indices, [10**6, 10**4])
    model.graph.sparse_initializer.append(tensor)


def _nested(model: onnx.ModelProto) -> None:
    for _ in range(15):
        graph = onnx.GraphProto()
        graph.CopyFrom(model.graph)
        del model.graph.node[:-1]
        branches = {"then_branch": graph, "else_branch": onnx.GraphProto()}
        model.graph.node.insert(0, helper.make_node("If", ["on"], ["x"], **branches))


def _batch(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 10**9


_LOOP = """last = Loop (often, , images) <
    body = body (int64 n, bool on, state) => (bool going, next) {
        going = Identity (on)
        next = Neg (state)
    }
>"""
_SUM = "most = ReduceMax <keepdims = 0> (large) last = Add (images, most)"
_LARGE = np.array([10**6, 10**4])
ONNX: dict[str, Callable[[onnx.ModelProto], object]] = {
    "data in another file": external,
    "data in a file, by their entries alone": by_entries_alone,
    "data in a file, by their location alone": by_location_alone,
    "an address in memory": partial(external, location="*/_ORT_MEM_ADDR_/*", offset=4096),
    "data in a function's file": _external_in_a_function,
    **{
        f"data in {place}": partial(external, location=place)
        for place in ("/etc/passwd", f"{OUTSIDE}/secret.bin", "/dev/zero", "../example/rnn.onnx")
    },
    "a constant of a large shape": before(
        f"large = ConstantOfShape (shape) {_SUM}", shape=_LARGE),
    "a small constant expanded": before(
        f"large = Expand (one, shape) {_SUM}", one=np.ones(1, np.float32), shape=_LARGE),
    "a small constant tiled": before(
        f"large = Tile (one, times) {_SUM}", one=np.ones((1, 1), np.float32), times=_LARGE),
    "a shape below zero": _negative,
    "a sparse constant": _sparse,
    "graphs in graphs": _nested,
    "a batch of a billion": _batch,
    "a foreign operator": before('last = com.stranger.Call (images)'),
}  # fmt: skip
add(("onnx",), {name: partial(onnx_edited, edit) for name, edit in ONNX.items()})
add(("onnx",), {"5 GB": Odd("sparse", size=5 * 10**9)})
endless = partial(onnx_edited, before(_LOOP, often=np.int64(2**62)))
add(("onnx",), {"an endless loop": endless}, told="")


# LiteRT --------------------------------------------------------------------------------------

_MANY = 90_000
#: How often parts stand in a LiteRT file: products of two numbers, and large ones alone.
TOO_MUCH: tuple[dict[str, int], ...] = (
    {"graphs": _MANY, "tensors": _MANY}, {"graphs": _MANY, "operators": _MANY},
    {"graphs": 1000, "ends": _MANY}, {"tensors": _MANY, "shape": _MANY},
    {"tensors": _MANY, "scales": _MANY}, {"tensors": _MANY, "text": 9000},
    {"operators": _MANY, "inputs": _MANY}, {"operators": _MANY, "outputs": _MANY},
    {"operators": _MANY, "sizes": _MANY}, {"codes": _MANY, "text": 9000},
    {"metadata": _MANY, "text": 9000}, {"signatures": _MANY, "named": _MANY},
    {"codes": 4_000_000}, {"buffers": 4_000_000}, {"ends": _MANY}, {"shape": 4_000_000},
    {"inputs": 4_000_000}, {"text": 1_000_000},
)  # fmt: skip


class _Shared:
    """A table that lies in the file once, however often it is referred to."""

    def __init__(self, table: Any) -> None:
        self._table, self._place = table, 0

    def Pack(self, builder: flatbuffers.Builder) -> int:
        self._place = self._place or self._table.Pack(builder)
        return self._place


def _repeating(counts: dict[str, int], model: Any) -> None:
    """Let parts of a model stand there many times, or be so long."""
    graph, signature = model.subgraphs[0], model.signatureDefs[0]
    tensor, operator, code = graph.tensors[0], graph.operators[0], model.operatorCodes[0]
    tensor.quantization, options = schema.QuantizationParametersT(), schema.ReshapeOptionsT()
    operator.builtinOptionsType = schema.BuiltinOptions.ReshapeOptions
    operator.builtinOptions, metadata = options, schema.MetadataT()
    model.metadata = [metadata]
    places: dict[str, tuple[Any, str]] = {
        "graphs": (model, "subgraphs"), "codes": (model, "operatorCodes"),
        "buffers": (model, "buffers"), "metadata": (model, "metadata"),
        "signatures": (model, "signatureDefs"), "named": (signature, "inputs"),
        "tensors": (graph, "tensors"), "operators": (graph, "operators"), "ends": (graph, "inputs"),
        "shape": (tensor, "shape"), "scales": (tensor.quantization, "scale"),
        "inputs": (operator, "inputs"), "outputs": (operator, "outputs"),
        "sizes": (options, "newShape"),
    }  # fmt: skip
    for name, count in counts.items():
        if name == "text":
            tensor.name = code.customCode = metadata.name = "x" * count
        elif name in ("ends", "shape", "inputs", "outputs", "sizes"):
            setattr(*places[name], np.zeros(count, np.int32))
        elif name == "scales":
            setattr(*places[name], np.zeros(count, np.float32))
        else:
            setattr(*places[name], [_Shared(getattr(*places[name])[0])] * count)


def _huge_tensor(model: Any) -> None:
    for tensor in model.subgraphs[0].tensors[:1]:
        tensor.shape = [64_000, 1000, 1000, 1]


def _buffers_elsewhere(model: Any) -> None:
    group = schema.ExternalBufferGroupT()
    group.name = b"/etc/hostname"
    model.externalBufferGroups = [group]


add(("tflite",), {
    **{
        " by ".join(many): partial(litert_edited, edit=partial(_repeating, many))
        for many in TOO_MUCH
    },
    "a tensor of 64 GB": partial(litert_edited, edit=_huge_tensor),
    "buffers in another file": partial(litert_edited, edit=_buffers_elsewhere),
    "offsets that lead nowhere": lambda whole: whole[:60] + b"\xff" * (len(whole) - 60),
})  # fmt: skip
# PyTorch: other attacks by programs are in tests/models/test_strange_programs.py -------------


add(("pt2",), {
    "a document of 200 MB": lambda _: zipped(
        [("m/models/model.json", b" " * (200 * 10**6))], zipfile.ZIP_DEFLATED),
    "weights of a thousandfold": lambda _: zipped(
        [("m/models/model.json", b"{}"), ("m/data/weights/w", bytes(2 * 10**9))],
        zipfile.ZIP_DEFLATED),
})  # fmt: skip
