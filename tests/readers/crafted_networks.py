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
from readers.damage import TOKENS
from readers.examples import Odd
from readers.formats import litert_edited, litert_texts, zipped
from readers.surroundings import OUTSIDE

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


def _dims(*sizes: int) -> Callable[[onnx.ModelProto], None]:
    """A constant of a shape, without its values."""

    def edit(model: onnx.ModelProto) -> None:
        odd = helper.make_tensor("odd", TensorProto.FLOAT, [0], [])
        odd.dims[:] = sizes
        model.graph.initializer.append(odd)

    return edit


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


def _functions(depth: int, times: int) -> Callable[[onnx.ModelProto], None]:
    """Functions, each of which calls the next one several times."""

    def edit(model: onnx.ModelProto) -> None:
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        for i in range(depth):
            kind, domain = (f"F{i + 1}", "own") if i + 1 < depth else ("Neg", "")
            calls = [
                helper.make_node(kind, [f"v{n}"], [f"v{n + 1}"], domain=domain)
                for n in range(times)
            ]
            made = helper.make_function("own", f"F{i}", ["v0"], [f"v{times}"], calls, opsets)
            model.functions.append(made)
        model.opset_import.append(opsets[1])
        call = helper.make_node("F0", [model.graph.output[0].name], ["expanded"], domain="own")
        model.graph.node.append(call)

    return edit


def _ends(model: onnx.ModelProto) -> None:
    for many in (model.graph.input, model.graph.output):
        many.extend([many[0]] * 30_000)
        for number, value in enumerate(many[1:]):
            value.name = f"more_{number}"


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
    "a shape without values": _dims(10**6, 10**4),
    "a shape below zero": _dims(-(10**6), 10**4),
    "a sparse constant": _sparse,
    "graphs in graphs": _nested,
    "a batch of a billion": _batch,
    "functions that double 40 times": _functions(40, 2),
    "300 functions in each other": _functions(300, 1),
    "30,000 inputs and outputs": _ends,
    "a foreign operator": before('last = com.stranger.Call (images)'),
}  # fmt: skip
add(("onnx",), {name: partial(onnx_edited, edit) for name, edit in ONNX.items()})
add(("onnx",), {"5 GB": Odd("sparse", size=5 * 10**9)})
endless = partial(onnx_edited, before(_LOOP, often=np.int64(2**62)))
calls = partial(onnx_edited, _functions(1, 10_000))
add(("onnx",), {"an endless loop": endless, "a function of 10,000 nodes": calls}, told="")


# LiteRT --------------------------------------------------------------------------------------

_MANY = 90_000
#: What :func:`declaring` is asked for: products of two numbers of parts, and large ones alone.
TOO_MUCH: tuple[dict[str, int], ...] = (
    {"graphs": _MANY, "tensors": _MANY},
    {"graphs": _MANY, "operators": _MANY},
    {"graphs": 1000, "ends": _MANY},
    {"tensors": _MANY, "shape": _MANY},
    {"tensors": _MANY, "scales": _MANY},
    {"tensors": _MANY, "text": 9000},
    {"operators": _MANY, "inputs": _MANY},
    {"operators": _MANY, "outputs": _MANY},
    {"operators": _MANY, "sizes": _MANY},
    {"codes": _MANY, "text": 9000},
    {"metadata": _MANY, "text": 9000},
    {"signatures": _MANY, "named": _MANY},
    {"codes": 4_000_000},
    {"buffers": 4_000_000},
    {"ends": _MANY},
    {"shape": 4_000_000},
    {"inputs": 4_000_000},
    {"text": 1_000_000},
)


def declaring(_whole: bytes = b"", **many: int) -> bytes:
    """A LiteRT file with one table of each kind, which stands any number of times in its vector.

    Args:
        many: how often a table stands in its vector, and how long a vector or a text is; 1 else.
    """
    builder = flatbuffers.Builder(1 << 16)

    def table(kind: str, **fields: int) -> int:
        getattr(schema, f"{kind}Start")(builder)
        for name, value in fields.items():
            getattr(schema, f"{kind}Add{name}")(builder, value)
        return int(getattr(schema, f"{kind}End")(builder))

    def numbers(name: str, dtype: type = np.int32) -> int:
        return int(builder.CreateNumpyVector(np.zeros(many.get(name, 1), dtype)))

    def times(name: str, entry: int) -> int:
        count = many.get(name, 1)
        builder.StartVector(4, count, 4)
        for _ in range(count):
            builder.PrependUOffsetTRelative(entry)
        return int(builder.EndVector())

    text = builder.CreateString("x" * many.get("text", 1))
    facts = table("QuantizationParameters", Scale=numbers("scales", np.float32))
    tensor = table("Tensor", Shape=numbers("shape"), Name=text, Quantization=facts)
    options = table("ReshapeOptions", NewShape=numbers("sizes"))
    kind = schema.BuiltinOptions.ReshapeOptions
    operator = table(
        "Operator", Inputs=numbers("inputs"), Outputs=numbers("outputs"),
        BuiltinOptionsType=kind, BuiltinOptions=options,
    )  # fmt: skip
    tensors, operators = times("tensors", tensor), times("operators", operator)
    ends = numbers("ends")
    graph = table("SubGraph", Tensors=tensors, Operators=operators, Inputs=ends, Outputs=ends)
    codes = times("codes", table("OperatorCode", CustomCode=text))
    named = times("named", table("TensorMap", Name=text))
    signature = table("SignatureDef", Inputs=named, Outputs=named, SignatureKey=text)
    model = table(
        "Model",
        Version=3,
        Subgraphs=times("graphs", graph),
        OperatorCodes=codes,
        Buffers=times("buffers", table("Buffer")),
        Metadata=times("metadata", table("Metadata", Name=text)),
        SignatureDefs=times("signatures", signature),
    )
    builder.Finish(model, b"TFL3")
    return bytes(builder.Output())


def _huge_tensor(model: Any) -> None:
    for tensor in model.subgraphs[0].tensors[:1]:
        tensor.shape = [64_000, 1000, 1000, 1]


def _buffers_elsewhere(model: Any) -> None:
    group = schema.ExternalBufferGroupT()
    group.name = b"/etc/hostname"
    model.externalBufferGroups = [group]


def _all_texts(text: str, model: Any) -> None:
    for part, name in litert_texts(model):
        setattr(part, name, text.encode("utf-8", "surrogatepass"))


def _edit_litert(edit: Callable[[Any], object], whole: bytes) -> bytes:
    return litert_edited(whole, edit)


add(("tflite",), {" by ".join(many): partial(declaring, **many) for many in TOO_MUCH})
add(("tflite",), {
    "a tensor of 64 GB": partial(_edit_litert, _huge_tensor),
    "buffers in another file": partial(_edit_litert, _buffers_elsewhere),
    "offsets that lead nowhere": lambda whole: whole[:60] + b"\xff" * (len(whole) - 60),
})  # fmt: skip
add(("tflite",), {
    f"texts that are {token[:40]!r}": partial(_edit_litert, partial(_all_texts, token))
    for token in TOKENS
}, told="")  # fmt: skip


# PyTorch: other attacks by programs are in tests/models/test_strange_programs.py -------------


add(("pt2",), {
    "a document of 200 MB": lambda _: zipped(
        [("m/models/model.json", b" " * (200 * 10**6))], zipfile.ZIP_DEFLATED),
    "weights of a thousandfold": lambda _: zipped(
        [("m/models/model.json", b"{}"), ("m/data/weights/w", bytes(2 * 10**9))],
        zipfile.ZIP_DEFLATED),
})  # fmt: skip
