"""A language model's decoder, with keys and values of earlier tokens as inputs and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from vetted_truth.fitting import logistic
from vetted_truth.heads import Output
from vetted_truth.items import VOCABULARY, Items
from vetted_truth.networks import Array, Net, random

WIDTH, HEADS_OF_ATTENTION = 24, 2
SIZE = WIDTH // HEADS_OF_ATTENTION
PAST = ("past_key_values.0.key", "past_key_values.0.value")
PRESENT = ("present.0.key", "present.0.value")


def decoder(
    net: Net, items: Items, rng: np.random.Generator
) -> tuple[dict[str, Array], list[Output]]:
    """A decoder of one layer, fitted to which token follows.

    Returns:
        The items by the model's inputs, without a past; and the outputs.
    """
    batch, number, past = "batch", TensorProto.INT64, [HEADS_OF_ATTENTION, "past", SIZE]
    net.inputs.append(("input_ids", number, [batch, "sequence"]))
    net.inputs.append(("attention_mask", number, [batch, "past + sequence"]))
    for name in PAST:
        net.inputs.append((name, TensorProto.FLOAT, [batch, *past]))
    table = rng.normal(0, 1, (VOCABULARY, WIDTH)).astype(np.float32)
    table[:, 0] = 1
    x = net.add("Gather", [net.constant("embed.weight", table), "input_ids"], "/embed/Gather")
    attended = _attention(net, x, rng)
    joined = net.add("Concat", [x, attended], "/Concat", axis=-1)
    w = net.constant("mlp.weight", random(rng, 2 * WIDTH, 96).astype(np.float32))
    hidden = net.add("Relu", [net.add("MatMul", [joined, w], "/mlp/MatMul")], "/mlp/Relu")
    feed = fed(items.values[:400])
    values = net.values(hidden, feed).reshape(-1, 96).astype(np.float64)
    targets = np.eye(VOCABULARY)[items.facts["following"][:400].reshape(-1)]
    weight, bias = logistic(values, targets, softmax=True, steps=120)
    w = net.constant("lm_head.weight", weight.astype(np.float32))
    b = net.constant("lm_head.bias", bias.astype(np.float32))
    x = net.add("Add", [net.add("MatMul", [hidden, w], "/lm_head/MatMul"), b], "/lm_head/Add")
    net.named(x, "logits")
    present = [HEADS_OF_ATTENTION, "past + sequence", SIZE]
    outputs = [Output("logits", "next token", ["sequence", VOCABULARY])]
    return feed, outputs + [Output(name, "cache", present) for name in PRESENT]


def fed(tokens: Array) -> dict[str, Array]:
    """Whole rows of tokens by the model's inputs, without a past."""
    nothing = np.zeros((len(tokens), HEADS_OF_ATTENTION, 0, SIZE), np.float32)
    return {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        **dict.fromkeys(PAST, nothing),
    }


def _attention(net: Net, x: str, rng: np.random.Generator) -> str:
    def constant(name: str, *values: Any) -> str:
        return net.constant(name, np.array(values, np.int64))

    split = constant("heads.shape", 0, 0, HEADS_OF_ATTENTION, SIZE)

    def projected(name: str) -> str:
        w = net.constant(f"{name}.weight", (random(rng, WIDTH, WIDTH) / 2).astype(np.float32))
        y = net.add("MatMul", [x, w], f"/{name}/MatMul")
        y = net.add("Reshape", [y, split], f"/{name}/Reshape")
        return net.add("Transpose", [y], f"/{name}/Transpose", perm=[0, 2, 1, 3])

    query, *new = (projected(name) for name in ("q", "k", "v"))
    for name, past, now in zip(PRESENT, PAST, new, strict=True):
        net.add("Concat", [past, now], f"/{name}/Concat", axis=2, output=name)
    turned = net.add("Transpose", [PRESENT[0]], "/keys/Transpose", perm=[0, 1, 3, 2])
    scores = net.add("MatMul", [query, turned], "/attention/MatMul")
    scores = net.add(
        "Mul", [scores, net.constant("scale", np.float32(SIZE**-0.5))], "/attention/Mul"
    )
    scores = net.add("Add", [scores, _mask(net, constant)], "/attention/Add")
    shares = net.add("Softmax", [scores], "/attention/Softmax", axis=-1)
    mixed = net.add("MatMul", [shares, PRESENT[1]], "/attention/MatMul_1")
    mixed = net.add("Transpose", [mixed], "/attention/Transpose", perm=[0, 2, 1, 3])
    return net.add("Reshape", [mixed, constant("joined.shape", 0, 0, WIDTH)], "/attention/Reshape")


def _mask(net: Net, constant: Any) -> str:
    """0 where a token may look, -10000 where it may not: later ones, and padding."""
    lengths = []
    for name, taken in (("now", "input_ids"), ("all", "attention_mask")):
        shape = net.add("Shape", [taken], f"/{name}/Shape")
        place = net.constant(f"{name}.place", np.array(1, np.int64))
        lengths.append(net.add("Gather", [shape, place], f"/{name}/Gather", axis=0))
    zero, one = (net.constant(f"range.{i}", np.array(i, np.int64)) for i in (0, 1))
    rows = net.add("Range", [zero, lengths[0], one], "/rows/Range")
    past = net.add("Sub", [lengths[1], lengths[0]], "/past/Sub")
    rows = net.add("Add", [rows, past], "/rows/Add")
    rows = net.add("Unsqueeze", [rows, constant("rows.axis", 1)], "/rows/Unsqueeze")
    columns = net.add("Range", [zero, lengths[1], one], "/columns/Range")
    seen = net.add("LessOrEqual", [columns, rows], "/LessOrEqual")
    seen = net.add("Cast", [seen], "/seen/Cast", to=TensorProto.FLOAT)
    kept = net.add("Cast", ["attention_mask"], "/kept/Cast", to=TensorProto.FLOAT)
    kept = net.add("Unsqueeze", [kept, constant("kept.axes", 1, 2)], "/kept/Unsqueeze")
    both = net.add("Mul", [seen, kept], "/mask/Mul")
    hidden = net.add("Sub", [net.constant("one", np.float32(1)), both], "/mask/Sub")
    return net.add("Mul", [hidden, net.constant("least", np.float32(-1e4))], "/mask/Mul_1")
