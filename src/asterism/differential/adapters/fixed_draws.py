"""Layers that draw random numbers in training draw the same ones in every library and dtype.

Keras asks a seed generator for a seed, and gives it to a function of the library that draws. These
functions alone are replaced. What the library does with the numbers stays its own: it compares
them with a rate, scales, and differentiates.

Scripts hold the source of :func:`fixed` and of one of :data:`DRAWN`, which import what they need.
Parts that are not public are named in ``docs/decisions/private-parts.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

#: By type, why the random numbers of a layer cannot be fixed; it takes part in no training step.
NOT_FIXED: dict[str, str] = {}


def drawn_in_tensorflow(uniform: Any, normal: Any) -> Any:
    """Replacements for the functions of TensorFlow that draw, its dropout among them."""
    import tensorflow as tf
    from tensorflow.python.ops import stateless_random_ops

    def sizes_of(shape: Any) -> Any:
        known = tf.get_static_value(tf.convert_to_tensor(shape, "int32"))
        if known is None:
            raise NotImplementedError("random numbers of unknown shape are not supported")
        return tuple(int(size) for size in known)

    def stateless_uniform(shape: Any, minval: Any, maxval: Any, dtype: Any, seed: Any) -> Any:
        return tf.constant(uniform(sizes_of(shape)), dtype) * (maxval - minval) + minval

    def stateless_normal(shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any) -> Any:
        return tf.constant(normal(sizes_of(shape)) * stddev + mean, dtype)

    def in_dropout(shape: Any, dtype: Any, seed: Any, alg: Any) -> Any:
        return tf.constant(1 - uniform(sizes_of(shape)))  # float64: it is compared with the rate

    return [
        (tf.random, "stateless_uniform", stateless_uniform),
        (tf.random, "stateless_normal", stateless_normal),
        (stateless_random_ops, "stateless_random_uniform", in_dropout),
    ]


def drawn_in_torch(uniform: Any, normal: Any) -> Any:
    """Replacements for the functions of PyTorch that draw.

    Where a layer has no seed of its own, Keras takes a dropout of PyTorch that takes no numbers.
    So all layers seem to have one.
    """
    import keras
    import torch

    def rand(size: Any, dtype: Any, generator: Any, device: Any) -> Any:
        return torch.from_numpy(uniform(size)).to(dtype)

    def normal_of(mean: Any, std: Any, size: Any, generator: Any, dtype: Any, device: Any) -> Any:
        return torch.from_numpy(normal(size) * std + mean).to(dtype)

    def bernoulli(chances: Any, generator: Any) -> Any:
        return torch.from_numpy(uniform(tuple(chances.shape))) < chances

    def ignored(generator: Any, seed: Any) -> None:
        """What the layer itself says."""

    seeded = property(lambda generator: 0, ignored)
    untraced: Any = torch.compiler.disable
    functions = (("rand", rand), ("normal", normal_of), ("bernoulli", bernoulli))
    return [
        (keras.random.SeedGenerator, "_initial_seed", seeded),
        *((torch, name, untraced(function)) for name, function in functions),
    ]


def drawn_in_jax(uniform: Any, normal: Any) -> Any:
    """Replacements for the functions of JAX that draw."""
    import jax

    def uniform_of(key: Any, shape: Any, dtype: Any, minval: Any, maxval: Any) -> Any:
        return jax.numpy.asarray(uniform(shape) * (maxval - minval) + minval, dtype)

    def normal_of(key: Any, shape: Any, dtype: Any) -> Any:
        return jax.numpy.asarray(normal(shape), dtype)

    def bernoulli(key: Any, p: Any, shape: Any) -> Any:
        return jax.numpy.asarray(uniform(shape) < p)

    return [
        (jax.random, "uniform", uniform_of),
        (jax.random, "normal", normal_of),
        (jax.random, "bernoulli", bernoulli),
    ]


#: By Keras' backend: owners, names of attributes, and their new values.
DRAWN: dict[str, Callable[[Any, Any], Any]] = {
    "tensorflow": drawn_in_tensorflow,
    "torch": drawn_in_torch,
    "jax": drawn_in_jax,
}


def fixed(drawn: Any, drawing: Any) -> Any:
    """What to replace, and by what, for draws to be the same everywhere.

    A number depends on its layer's place among those that draw, on how often that layer has drawn
    before, and on the shape. Every dtype holds it exactly.

    Args:
        drawn: one of the functions of :data:`DRAWN`.
        drawing: an empty list. It has an entry while a seed was taken and nothing is drawn yet.
    """
    import keras

    places: dict[int, int] = {}
    counts: dict[int, int] = {}

    def next_seed(generator: Any, ordered: bool = True) -> Any:
        if drawing:
            raise NotImplementedError("a layer that draws by another function is not supported")
        place = places.setdefault(id(generator.state), len(places))
        counts[place] = counts.get(place, -1) + 1
        drawing.append((place, counts[place]))
        return generator.state.value

    def uniform(shape: Any) -> Any:
        integers = np.random.default_rng(drawing.pop()).integers(0, 1024, shape)
        return (2 * integers + 1) / 2048

    def normal(shape: Any) -> Any:
        return np.round(np.random.default_rng(drawing.pop()).normal(size=shape) * 64) / 64

    def in_layers(own: Any, function: Any) -> Any:
        return lambda *given, **named: (function if drawing else own)(*given, **named)

    replaced = [(keras.random.SeedGenerator, "next", next_seed)]
    for owner, name, value in drawn(uniform, normal):  # initializers draw without a generator
        own = getattr(owner, name, None)
        replaced.append((owner, name, value if own is None else in_layers(own, value)))
    return replaced


@contextmanager
def fixed_draws() -> Iterator[None]:
    """Inside of the block, the layers of Keras models draw the same numbers in every library.

    Raises:
        NotImplementedError: one has drawn by a function that is not replaced.
    """
    from unittest.mock import patch

    import keras

    drawing: list[tuple[int, int]] = []
    with ExitStack() as stack:
        for owner, name, value in fixed(DRAWN[keras.backend.backend()], drawing):
            stack.enter_context(patch.object(owner, name, value, create=True))
        yield
        if drawing:
            raise NotImplementedError("a layer that draws by another function is not supported")
