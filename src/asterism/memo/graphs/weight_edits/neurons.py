"""Weights fuzzed, shuffled, blocked, inverted and switched, as DeepMutation and LEMON do."""

from __future__ import annotations

import numpy as np

from asterism.memo.graphs.weights import WEIGHT_EDITS, Array


def _neurons(array: Array, rng: np.random.Generator, count: int) -> list[int]:
    """Indices of some output channels: the last axis of a kernel or a bias."""
    return [int(i) for i in rng.permutation(array.shape[-1])[:count]]


@WEIGHT_EDITS.register("gaussian_fuzz")
def gaussian_fuzz(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """GF: noise of a tenth of the weights' own spread."""
    return [
        a + rng.normal(0, 0.1 * float(a.std()) + 1e-6, a.shape).astype(np.float32)
        if a.ndim > 1
        else a
        for a in arrays
    ]


@WEIGHT_EDITS.register("weight_shuffle")
def weight_shuffle(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """WS: the weights of one neuron change places."""
    for a in arrays:
        if a.ndim > 1:
            (neuron,) = _neurons(a, rng, 1)
            values = a[..., neuron].reshape(-1)
            a[..., neuron] = rng.permutation(values).reshape(a.shape[:-1])
    return arrays


@WEIGHT_EDITS.register("neuron_block")
def neuron_block(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NEB: one neuron has no effect."""
    for a in arrays:
        if a.ndim > 1:
            a[..., _neurons(a, rng, 1)[0]] = 0
    return arrays


@WEIGHT_EDITS.register("neuron_inversion")
def neuron_inversion(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NAI: one neuron changes its sign."""
    for a in arrays:
        if a.ndim > 1:
            a[..., _neurons(a, rng, 1)[0]] *= -1
    return arrays


@WEIGHT_EDITS.register("neuron_switch")
def neuron_switch(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NS: two neurons change places."""
    for a in arrays:
        if a.ndim > 1 and a.shape[-1] > 1:
            one, two = _neurons(a, rng, 2)
            a[..., [one, two]] = a[..., [two, one]]
    return arrays
