"""Attention layers."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.keras_options import kernel, vector
from asterism.memo.universe.layers import declare
from asterism.memo.universe.parameters import (
    Choice,
    Number,
    ShapeDependentParameter,
    are_whole,
    is_whole,
)
from asterism.memo.universe.shapes import flag
from asterism.memo.universe.tensors import Config, Tensor, require_valid

_DROPOUT = Number("dropout", 0.0, 0.0, 0.5, integer=False)
_RANK3 = frozenset({3})
_ATTENTION_AXES = ShapeDependentParameter(
    "attention_axes", None, (), str, lambda rng, inputs: [1], lambda v: is_whole(v) or are_whole(v)
)


def _attended(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """Query ``(Tq, D)``, value ``(Tv, D)`` and, where given, key ``(Tv, D)`` to ``(Tq, D)``."""
    query, value, *key = (t.shape for t in inputs)
    require_valid(query[-1] == (key[0] if key else value)[-1], "query and key have one depth")
    require_valid(not key or key[0][0] == value[0], "key and value have one length")
    return (query[0], value[-1])


def _projected(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    require_valid(inputs[0].shape[-1] == inputs[1].shape[-1], "query and value have one depth")
    return inputs[0].shape


def _grouped(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    heads, shared = config["num_query_heads"], config["num_key_value_heads"]
    require_valid(heads % shared == 0, "key heads must divide query heads")
    return _projected(config, inputs)


declare(
    "Attention",
    _RANK3,
    _attended,
    (
        flag("use_scale", False),
        Choice("score_mode", "dot", ("dot", "concat")),
        _DROPOUT,
    ),
    arity=(2, 3),
    in_paper=False,
)
declare(
    "AdditiveAttention",
    _RANK3,
    _attended,
    (flag("use_scale", True), _DROPOUT),
    arity=(2, 3),
    in_paper=False,
)
_PROJECTIONS = (_DROPOUT, flag("use_bias", True), *kernel(), *vector())
declare(
    "MultiHeadAttention",
    _RANK3,
    _projected,
    (
        Number("num_heads", 2, 1, 5),
        Number("key_dim", 3, 1, 10),
        flag("use_gate", False),
        *_PROJECTIONS,
    ),
    arity=(2, 2),
    in_paper=False,
    uncounted=(Number("value_dim", 3, 1, 10), _ATTENTION_AXES),
)
declare(
    "GroupQueryAttention",
    _RANK3,
    _grouped,
    (
        Number("head_dim", 3, 1, 10),
        Number("num_query_heads", 2, 1, 5),
        Number("num_key_value_heads", 1, 1, 5),
        flag("use_gate", False),
        *_PROJECTIONS,
    ),
    arity=(2, 2),
    in_paper=False,
)
