"""Scales and zero points: of weights by channels, of outputs by the values that they have.

Weights get one scale for each output channel, ``max |w| / (levels - 1)`` symmetrically (Jacob et
al., CVPR 2018; Krishnamoorthi, arXiv:1806.08342, section 3.1). An output's range is, of the range
of its values and of smaller ones, that which gives the least mean squared error (Banner et al.,
NeurIPS 2019, section 3, by search).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from asterism.localisation.matching import tensors_by_counterpart
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import FLOATS, Array, Run, Session, number_of_calls
from asterism.models.onnx_graphs import with_outputs

#: Shares of the measured range that are tried.
SHARES = np.concatenate([np.linspace(1, 0.9, 6), np.linspace(0.85, 0.3, 12)])
#: Values of a tensor that a range is chosen by.
_SAMPLE = 50_000


def quantise_by_channel(wanted: Array, axis: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Quantise with a symmetric scale for each channel; one scale if the axis is below 0.

    Returns:
        The integers, the scales float32 and the zero points.
    """
    limits = np.iinfo(dtype)
    middle = (int(limits.max) + int(limits.min) + 1) // 2
    highest = int(limits.max) - middle
    others = tuple(i for i in range(wanted.ndim) if i != axis)
    largest = np.abs(wanted).max(axis=others if axis >= 0 else None, keepdims=True)
    scale = np.where(largest > 0, largest / highest, 1.0).astype(np.float32)
    levels = np.rint(wanted / scale) + middle
    values = np.clip(levels, middle - highest, limits.max).astype(dtype)
    scale = scale.reshape(-1) if axis >= 0 else scale.reshape(())
    return values, scale, np.full(scale.shape, middle, dtype)


def fit_range(observed: Array, dtype: Any, shares: Array = SHARES) -> tuple[Array, Array]:
    """The scale, float32, and the zero point with the least squared error on these values.

    Args:
        observed: values.
        dtype: the dtype of the integers.
        shares: the shares of the values' range, that are tried.
    """
    limits = np.iinfo(dtype)
    low, high = min(0.0, float(observed.min())), max(0.0, float(observed.max()))
    best: tuple[float, Array, Array] | None = None
    for share in shares:
        scale = np.float32((high - low) * share / (int(limits.max) - int(limits.min)))
        if not scale > 0:
            scale = np.float32(1)
        point = np.clip(np.rint(limits.min - low * share / scale), limits.min, limits.max)
        levels = np.clip(np.rint(observed / scale) + point, limits.min, limits.max)
        error = float(np.square((levels - point) * scale - observed).sum())
        if best is None or error < best[0]:
            best = (error, np.asarray(scale, np.float32), np.asarray(point, dtype))
    assert best is not None
    return best[1], best[2]


def collect_observed_values(pair: MatchedPair, feeds: Iterable[Run]) -> dict[str, Array]:
    """The original's values, with the least and the largest, of tensors that are quantised.

    Args:
        pair: the matched pair.
        feeds: inputs like those that a repaired file will get.
    """
    opened = pair.opened
    kinds, graph, owner = (
        opened.original_types,
        opened.compressed,
        tensors_by_counterpart(pair.tensors),
    )
    dynamic = [n.input[0] for n in graph.nodes if n.op_type == "DynamicQuantizeLinear"]
    quantised = {t for t, part in pair.tensors.items() if part.quantiser}
    quantised |= {owner[name] for name in dynamic if name in owner}
    tensors = [tensor for tensor in pair.tensors if tensor in quantised and kinds[tensor] in FLOATS]
    if not tensors:
        return {}
    made = sorted(tensor for tensor in tensors if tensor in opened.original.maker)
    session = Session(with_outputs(opened.original.model, made), "the original", optimised=False)
    parts: dict[str, list[Array]] = {}
    runs = list(feeds)
    count = sum(number_of_calls(run) for run in runs)
    for values in (call for run in runs for call in session.calls(run)):
        for tensor in tensors:
            flat = np.asarray(values[tensor]).reshape(-1)
            is_finite = np.isfinite(flat)
            flat = flat if is_finite.all() else flat[is_finite]
            if flat.size:
                step = max(1, flat.size * count // _SAMPLE)
                some = [flat.min(keepdims=True), flat.max(keepdims=True), flat[::step]]
                parts.setdefault(tensor, []).append(np.concatenate(some).astype(np.float64))
    return {tensor: np.concatenate(some) for tensor, some in parts.items()}
