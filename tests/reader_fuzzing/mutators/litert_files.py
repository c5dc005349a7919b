"""Mutators for LiteRT files, table by table, and files that declare more than they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from reader_fuzzing.mutators import Mutator
from reader_fuzzing.mutators.text import TOKENS

_NUMBERS = (0, 1, -1, 7, 32, 127, 10**5, 2**31 - 1, -(2**31))
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


def declaring(**many: int) -> bytes:
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


def edited(data: bytes, edit: Callable[[Any], None]) -> bytes:
    """A whole file after a change of its tables."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    edit(model)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def fields_of(part: Any) -> Iterator[tuple[Any, str, Any]]:
    """All fields below a table: who has it, its name, its value."""
    if isinstance(part, list):
        for one in part:
            yield from fields_of(one)
    elif hasattr(part, "__dict__"):
        for name, value in vars(part).items():
            yield part, name, value
            yield from fields_of(value)


def texts_of(model: Any) -> list[tuple[Any, str]]:
    """Where texts stand in a model, and where they could."""
    named = ("name", "sharedName", "container", "description", "customCode", "signatureKey")
    return [(part, name) for part, name, value in fields_of(model)
            if isinstance(value, str | bytes) or name in named]  # fmt: skip


def text_replaced(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        part, name = random.choice(texts_of(model))
        odd = random.choice((*TOKENS, "", b"\xff\xfe"))
        setattr(part, name, odd if isinstance(odd, bytes) else odd.encode("utf-8", "replace"))

    return edited(data, edit)


def text_repeated(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """A text stands in another's place too: two tensors of one name."""

    def edit(model: Any) -> None:
        (part, name), (other, as_well) = random.choices(texts_of(model), k=2)
        setattr(part, name, getattr(other, as_well))

    return edited(data, edit)


def number_changed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        found = [(p, n, v) for p, n, v in fields_of(model) if isinstance(v, int | np.ndarray)]
        part, name, value = random.choice(found)
        if isinstance(value, int):
            setattr(part, name, abs(random.choice(_NUMBERS)) % 120)
        elif name != "data" and len(value):
            changed = value.tolist()
            changed[random.randrange(len(changed))] = random.choice(_NUMBERS)
            setattr(part, name, changed)

    return edited(data, edit)


def part_repeated(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        lists = [v for _, _, v in fields_of(model) if isinstance(v, list) and v]
        chosen = random.choice(lists)
        chosen += [random.choice(chosen)] * random.choice((1, 3, 1000))

    return edited(data, edit)


def part_gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(model: Any) -> None:
        lists = [v for _, _, v in fields_of(model) if isinstance(v, list) and v]
        chosen = random.choice(lists)
        del chosen[random.randrange(len(chosen))]

    return edited(data, edit)


def offset_changed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """One of the file's 32-bit numbers, most of which are offsets and counts."""
    changed = bytearray(data)
    at = random.randrange(0, len(data) - 4, 4)
    value = random.choice((0, 1, 4, 2**16, 2**31 - 1, 2**31, 2**32 - 1, len(data), len(data) - at))
    changed[at : at + 4] = value.to_bytes(4, "little")
    return bytes(changed)


def declares(_data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    names = ("graphs", "tensors", "shape", "text", "operators", "inputs", "outputs", "codes",
             "buffers", "metadata", "signatures", "named", "ends", "sizes", "scales")  # fmt: skip
    return declaring(**{name: random.choice((1, 30, 3000)) for name in random.sample(names, 3)})


MUTATORS: tuple[Mutator, ...] = (
    text_replaced, text_replaced, text_repeated, number_changed, number_changed, part_repeated,
    part_gone, offset_changed, offset_changed, declares,
)  # fmt: skip
