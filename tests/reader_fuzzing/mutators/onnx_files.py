"""Mutators for ONNX files, message by message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from hostile_text import TEXTS
from reader_fuzzing.mutators import Mutator

_NUMBERS = (0, 1, -1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 10**6, 65536)
_OPERATORS = (
    "Conv", "MatMul", "Gemm", "Reshape", "Transpose", "Softmax", "Relu", "LSTM", "GRU", "RNN",
    "Loop", "If", "Scan", "Gather", "ScatterND", "Tile", "Expand", "ConstantOfShape", "Range",
    "Pad", "Resize", "TopK", "NonZero", "Compress", "MaxPool", "Slice", "Concat", "Split",
    "StringNormalizer", "SequenceAt", "Optional", "Einsum", "RandomNormal", "Foreign", "",
)  # fmt: skip


def _edited(data: bytes, edit: Callable[[Any], None]) -> bytes:
    model = onnx.ModelProto.FromString(data)
    edit(model)
    return bytes(model.SerializeToString())


def _messages(message: Any) -> list[Any]:
    found = [message]
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                found += _messages(one)
    return found


def field_changed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        message = random.choice(_messages(model))
        fields = [pair for pair in message.ListFields() if pair[0].type != pair[0].TYPE_MESSAGE]
        if not fields:
            return
        field, value = random.choice(fields)
        if field.is_repeated:
            values = list(value)
            values[random.randrange(len(values))] = _odd(field, random)
            del value[:]
            value.extend(values)
        else:
            setattr(message, field.name, _odd(field, random))

    return _edited(data, edit)


def _odd(field: Any, random: Random) -> Any:
    kinds = field
    if field.cpp_type in (kinds.CPPTYPE_FLOAT, kinds.CPPTYPE_DOUBLE):
        return random.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    if field.type == kinds.TYPE_BYTES:
        return random.choice((b"", b"\0" * 8, random.randbytes(64), b"\xff" * 100))
    if field.type == kinds.TYPE_STRING:
        odd = ("", "images", "outputs", "x", "a\0b", "../../outside/secret.bin", "é" * 1000)
        return random.choice((*odd, *_OPERATORS, *TEXTS))
    if field.cpp_type == kinds.CPPTYPE_ENUM:
        return random.choice(range(12))
    narrow = field.cpp_type in (kinds.CPPTYPE_INT32, kinds.CPPTYPE_UINT32)
    numbers = [n for n in _NUMBERS if -(2**31) <= n < 2**31] if narrow else list(_NUMBERS)
    return random.choice(numbers)


def text(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Hostile text wherever the file has one of its strings, so that names go on to fit."""

    def edit(model: Any) -> None:
        texts = [(m, f, v) for m in _messages(model) for f, v in m.ListFields() if _is_text(f)]
        old = random.choice([one for _, f, v in texts for one in (v if f.is_repeated else [v])])
        new = random.choice(TEXTS)
        for message, field, value in texts:
            if field.is_repeated:
                value[:] = [new if one == old else one for one in value]
            elif value == old:
                setattr(message, field.name, new)

    return _edited(data, edit)


def _is_text(field: Any) -> bool:
    return bool(field.type == field.TYPE_STRING)


def functions(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Functions, each of which calls the next one several times."""

    def edit(model: Any) -> None:
        depth, times = random.choice(((40, 2), (15, 2), (3, 200), (300, 1), (1, 50_000)))
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
        last = model.graph.output[0].name
        call = helper.make_node("F0", [last], ["expanded"], domain="own")
        model.graph.node.append(call)

    return _edited(data, edit)


def ends(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Thousands of inputs and outputs."""

    def edit(model: Any) -> None:
        graph, count = model.graph, random.choice((500, 3000, 30_000))
        for many in random.choice(((graph.input,), (graph.output,), (graph.input, graph.output))):
            many.extend([many[0]] * count)
            for number, value in enumerate(many[1:]):
                value.name = f"more_{number}"

    return _edited(data, edit)


def field_gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        message = random.choice(_messages(model))
        if fields := message.ListFields():
            message.ClearField(random.choice(fields)[0].name)

    return _edited(data, edit)


def repeated(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Something of a list twice, gone, or elsewhere in it."""

    def edit(model: Any) -> None:
        lists = [
            value
            for message in _messages(model)
            for field, value in message.ListFields()
            if field.is_repeated and field.type == field.TYPE_MESSAGE
        ]
        many = random.choice(lists)
        kept = [type(one).FromString(one.SerializeToString()) for one in many]
        random.choice(
            (
                lambda: kept.append(random.choice(kept)),
                lambda: kept.pop(random.randrange(len(kept))),
                lambda: random.shuffle(kept),
            )
        )()
        del many[:]
        many.extend(kept)

    return _edited(data, edit)


def operator(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        random.choice(model.graph.node).op_type = random.choice(_OPERATORS)

    return _edited(data, edit)


def constant(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """A constant of another type, shape or value."""

    def edit(model: Any) -> None:
        old = random.choice(model.graph.initializer)
        shape = random.choice((tuple(old.dims), (0,), (), (1,), (2, 2), (3, 1, 5)))
        kind = random.choice(("<f4", "<f8", "<i8", "<i4", "?", "<f2", "<u1"))
        fill = random.choice((0, 1, -1, 1e9, float("nan"), float("inf")))
        with np.errstate(all="ignore"):
            array = np.full(shape, fill, np.float64).astype(kind)
        old.CopyFrom(numpy_helper.from_array(array, old.name))

    return _edited(data, edit)


def dimensions(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        old = random.choice(model.graph.initializer)
        if old.dims:
            old.dims[random.randrange(len(old.dims))] = random.choice(_NUMBERS)

    return _edited(data, edit)


def form(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Inputs and outputs of another shape or type."""

    def edit(model: Any) -> None:
        value = random.choice([*model.graph.input, *model.graph.output])
        tensor = value.type.tensor_type
        if random.random() < 0.3:
            tensor.elem_type = random.choice(range(1, 17))
        elif tensor.shape.dim:
            random.choice(tensor.shape.dim).dim_value = random.choice(
                (*_NUMBERS, 3, 28, 50_000, 1_000_000)
            )

    return _edited(data, edit)


def external(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """A constant whose data lie in another file."""

    def edit(model: Any) -> None:
        old = random.choice(model.graph.initializer)
        old.ClearField("raw_data")
        old.data_location = TensorProto.EXTERNAL
        place = random.choice(
            ("../../outside/secret.bin", "/etc/passwd", "../../outside/../outside/secret.bin",
             "weights.bin", "", ".", "/dev/zero", "\0", "x" * 5000)
        )  # fmt: skip
        for key, value in (("location", place), ("offset", "0"), ("length", "64")):
            entry = old.external_data.add()
            entry.key, entry.value = key, random.choice((value, value, value, "-1", "9" * 30))

    return _edited(data, edit)


def endless(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """More work before the output: loops, and tensors larger than any memory."""

    def edit(model: Any) -> None:
        graph = model.graph
        count = random.choice((2**62, 10**6, 300))
        shape = random.choice(((1 << 20, 1 << 20), (1 << 62,), (40_000, 40_000)))
        graph.initializer.append(numpy_helper.from_array(np.int64(count), "how_often"))
        graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), "how_large"))
        body = helper.make_graph(
            [helper.make_node("Identity", ["on_in"], ["on_out"])], "body",
            [helper.make_tensor_value_info("n", TensorProto.INT64, []),
             helper.make_tensor_value_info("on_in", TensorProto.BOOL, [])],
            [helper.make_tensor_value_info("on_out", TensorProto.BOOL, [])],
        )  # fmt: skip
        if random.random() < 0.5:
            node = helper.make_node("Loop", ["how_often", ""], [], body=body)
        else:
            node = helper.make_node("ConstantOfShape", ["how_large"], ["large"])
        graph.node.insert(random.randrange(len(graph.node) + 1), node)

    return _edited(data, edit)


MUTATORS: tuple[Mutator, ...] = (
    field_changed, field_changed, field_changed, field_gone, field_gone, repeated, repeated,
    operator, constant, dimensions, form, external, endless, text, text, text, functions, ends,
)  # fmt: skip
