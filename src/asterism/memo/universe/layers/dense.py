"""Dense layers, embeddings and layers that rescale: most of what the paper left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from asterism.memo.universe.keras_options import activation, kernel, kernel_initializers, vector
from asterism.memo.universe.layers import ANY_RANK, declare
from asterism.memo.universe.layers.elementwise import same_shape
from asterism.memo.universe.parameters import Choice, Number, ShapeDependentParameter
from asterism.memo.universe.shapes import flag
from asterism.memo.universe.tensors import INTEGER, INTEGER_BOUND, Config, Tensor, require_valid


def _dense(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    return (*inputs[0].shape[:-1], config["units"])


def _einsum(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """Shape by the equation ``input,kernel->output``; a new axis has the size ``new_axis``."""
    subscripts, output = config["equation"].replace(" ", "").split("->")
    given = subscripts.split(",")[0]
    require_valid(len(given) == inputs[0].rank, "the equation names every axis of the input")
    sizes = dict(zip(given[1:], inputs[0].shape, strict=True))
    new = int(config.get("new_axis", 3))
    return tuple(sizes.get(name, new) for name in output[1:])


def _einsum_arguments(config: Config, inputs: Sequence[Tensor]) -> Config:
    """Keras wants the output's sizes and the letters of the bias."""
    return {
        **{name: value for name, value in config.items() if name != "new_axis"},
        "output_shape": list(_einsum(config, inputs)),
        "bias_axes": config["equation"][-1] if config.get("bias_axes") == "last" else None,
    }


def _einsum_read(config: Config) -> Config:
    """From Keras' configuration: the size of the axes that the kernel brings in."""
    subscripts, output = config["equation"].split("->")
    sizes = config["output_shape"]
    sizes = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    given = subscripts.split(",")[0]
    new = [s for n, s in zip(output[-len(sizes) :], sizes, strict=True) if n not in given]
    require_valid(len(set(new)) <= 1, f"its new axes have several sizes, {new}")
    bias = config.get("bias_axes")
    require_valid(
        not bias or bias == output[-1], f"its bias has the axes {bias}, not only the last"
    )
    rest = {name: value for name, value in config.items() if name != "output_shape"}
    return {**rest, "new_axis": new[-1] if new else 1, "bias_axes": "last" if bias else "none"}


_LETTERS = "abcde"


def _draw_equation(rng: np.random.Generator, inputs: Sequence[Tensor]) -> str:
    given = _LETTERS[: inputs[0].rank]
    last, rest = given[-1], given[:-1]
    if rng.random() < 0.5 or len(given) < 3:
        return f"{given},{last}z->{rest}z"
    return f"{given},{last}yz->{rest}yz" if len(given) < 5 else f"{given},{last}z->{rest}z"


_EQUATION = re.compile(r"[a-zA-Z]{1,8},[a-zA-Z]{1,8}->[a-zA-Z]{1,8}")


def _is_equation(value: Any) -> bool:
    return isinstance(value, str) and _EQUATION.fullmatch(value.replace(" ", "")) is not None


def _equation_kind(equation: Any) -> str:
    subscripts, output = str(equation).split("->")
    given, weights = subscripts.split(",")
    return f"rank {len(given)}, kernel of {len(weights)} axes, output of {len(output)}"


declare(
    "Dense",
    ANY_RANK,
    _dense,
    (
        Number("units", 4, 1, 20),
        activation(),
        flag("use_bias", True),
        *kernel(),
        *vector(),
    ),
    in_paper=False,
)
declare(
    "EinsumDense",
    ANY_RANK,
    _einsum,
    (
        ShapeDependentParameter(
            "equation",
            None,
            (
                *(f"rank {r}, kernel of 2 axes, output of {r}" for r in (2, 3, 4, 5)),
                *(f"rank {r}, kernel of 3 axes, output of {r + 1}" for r in (3, 4)),
            ),
            _equation_kind,
            _draw_equation,
            _is_equation,
        ),
        Number("new_axis", 3, 1, 5),
        Choice("bias_axes", "none", ("none", "last")),
        activation(),
        *kernel(),
        *vector(),
    ),
    out_ranks=lambda rank: frozenset({rank, rank + 1} if rank in (3, 4) else {rank}),
    keras_config=_einsum_arguments,
    from_keras=_einsum_read,
    in_paper=False,
)
declare(
    "Embedding",
    frozenset({2, 3, 4}),
    lambda config, inputs: (*inputs[0].shape, config["output_dim"]),
    (
        Number("input_dim", 20, INTEGER_BOUND, 59),
        Number("output_dim", 4, 1, 10),
        Choice("embeddings_initializer", "uniform", lambda: ("uniform", *kernel_initializers())),
        *kernel("embeddings")[1:],
    ),
    out_ranks=lambda rank: frozenset({rank + 1}),
    dtypes=(INTEGER,),
    in_paper=False,
)
declare(
    "Rescaling",
    ANY_RANK,
    same_shape,
    (
        Number("scale", 0.5, -2.0, 2.0, integer=False, channels=True),
        Number("offset", 0.0, -1.0, 1.0, integer=False, channels=True),
    ),
    in_paper=False,
)
declare("Identity", ANY_RANK, same_shape, in_paper=False)
declare(
    "Masking",
    frozenset({3}),
    same_shape,
    (Choice("mask_value", 0.0, (0.0, 1.0)),),
    in_paper=False,
)
