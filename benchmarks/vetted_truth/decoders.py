"""A language model's decoder, with keys and values of earlier tokens as inputs and outputs."""

from __future__ import annotations

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
    table = rng.normal(0, 1, (VOCABULARY, WIDTH))
    table[:, 0] = 1
    weights = {"embed": table}
    weights |= {name: random(rng, WIDTH, WIDTH) / 2 for name in "qkv"}
    weights["mlp"] = random(rng, 2 * WIDTH, 96)
    for name, weight in weights.items():
        net.constant(f"{name}_weight", weight.astype(np.float32))
    net.write("decoder")  # its mask is 0 where a token may look, and -10000 elsewhere
    feed = fed(items.values[:400])
    values = net.values("features", feed).reshape(-1, 96).astype(np.float64)
    targets = np.eye(VOCABULARY)[items.facts["following"][:400].reshape(-1)]
    weight, bias = logistic(values, targets, softmax=True, steps=120)
    w = net.constant("lm_head.weight", weight.astype(np.float32))
    b = net.constant("lm_head.bias", bias.astype(np.float32))
    x = net.add("Add", [net.add("MatMul", ["features", w], "/lm_head/MatMul"), b], "/lm_head/Add")
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
