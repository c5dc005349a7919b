"""Deviations that the benchmark counts again are those of the comparisons themselves."""

import numpy as np
import pytest
from truths import recounting

from asterism.dflare.comparisons import build_comparison
from asterism.dflare.params import ComparisonParams

RNG = np.random.default_rng(5)
COUNT = 60


def drawn(*shape):
    return RNG.normal(size=(COUNT, *shape)).astype(np.float32)


def boxes(count=6):
    """Detections of one output: middle, size, and scores of two classes."""
    middle, size = RNG.uniform(20, 80, (2, COUNT, count, 2))
    scores = RNG.uniform(0, 1, (COUNT, count, 2)) ** 2
    return np.concatenate([middle, size / 4, scores], axis=2).astype(np.float32)


CASES = {
    "top_label": ({}, drawn(5)),
    "multi_label": ({}, RNG.uniform(0.3, 0.7, (COUNT, 3)).astype(np.float32)),
    "regression": ({"tolerance": 0.02}, drawn(3)),
    "tolerance": ({}, drawn(4)),
    "embedding": ({"tolerance": 0.002}, drawn(16)),
    "label_map": ({"axis": 0, "share": 0.05}, drawn(3, 6, 6)),
    "frame_scores": ({"threshold": None, "share": 0.1}, drawn(9, 4)),
    "sequence": ({"tolerance": 0.1, "scores": "logits"}, drawn(9, 4)),
    "token_distribution": ({"tolerance": 0.005}, drawn(7, 11)),
    "boxes": ({"form": "centre", "classes": 2, "suppress": 0.3}, boxes()),
}


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("kind", CASES)
def test_both_count_the_same(kind, lost):
    options, x = CASES[kind]
    noise = np.random.default_rng(6).normal(size=x.shape) * np.linspace(0, 0.4, COUNT).reshape(
        -1, *[1] * (x.ndim - 1)
    )
    y = (x + noise * x.std()).astype(np.float32)
    if lost:
        y[::7] = np.nan
    comparison = build_comparison(ComparisonParams(kind=kind, options=options), x.shape[1:])
    f, g = x.reshape(COUNT, -1), y.reshape(COUNT, -1)
    comparison.calibrate(f, g)
    told = comparison.deviates(f, g)
    roles = {"output": "boxes" if kind == "boxes" else "classes"}
    sides = [[{"output": row[np.newaxis]} for row in side] for side in (x, y)]
    counted = recounting.deviations({"kind": kind, "options": options}, roles, *sides)
    assert 0 < told.sum() < COUNT
    np.testing.assert_array_equal(counted, told)


def test_several_outputs_deviate_where_one_does():
    x, y = drawn(4), drawn(1)
    parts = [
        {"output": "a", "shape": [4], "kind": "top_label"},
        {"output": "b", "shape": [1], "kind": "regression"},
    ]
    f = [{"a": a[None], "b": b[None]} for a, b in zip(x, y, strict=True)]
    g = [
        {"a": a[None] * (1 if i % 3 else -1), "b": b["b"]}
        for i, (a, b) in enumerate(zip(x, f, strict=True))
    ]
    told = {"kind": "together", "options": {"outputs": parts}}
    counted = recounting.deviations(told, {"a": "classes", "b": "numbers"}, f, g)
    assert counted.tolist() == [i % 3 == 0 for i in range(COUNT)]
