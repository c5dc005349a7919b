"""Short scripts of a layer that draws random numbers: lines that give it the same ones everywhere.

They are the numbers of the first draw of the first layer that draws, see
:mod:`asterism.libraries.adapters.fixed_draws`. Initializers may draw by the same functions, so the
lines stand after those that build the model.
"""

from __future__ import annotations

from asterism.libraries.reporting.short_code import Code
from asterism.libraries.running.inputs import random_layers
from asterism.memo.graphs.graph import Graph

#: By type, the distribution from which a layer draws, of those that draw once in a step.
_ONCE = {
    **dict.fromkeys(("Dropout", *(f"SpatialDropout{n}D" for n in (1, 2, 3))), "bernoulli"),
    "AlphaDropout": "uniform",
    **dict.fromkeys(("GaussianDropout", "GaussianNoise"), "normal"),
}
_RNG = "np.random.default_rng((0, 0))"
_UNIFORM = f"drawn = lambda shape: (2 * {_RNG}.integers(0, 1024, shape) + 1) / 2048"
_DRAWN = {
    "bernoulli": _UNIFORM,
    "uniform": _UNIFORM,
    "normal": f"drawn = lambda shape: np.round({_RNG}.normal(size=shape) * 64) / 64",
}
#: By library and distribution, lines that put ``drawn`` in the place of what draws there.
_REPLACED: dict[str, dict[str, tuple[str, ...]]] = {
    "jax": {
        "bernoulli": (
            "jax.random.bernoulli = lambda key, p, shape: jax.numpy.asarray(drawn(shape) < p)",
        ),
        "uniform": (
            "jax.random.uniform = lambda key, shape, dtype, minval, maxval: (",
            "    jax.numpy.asarray(drawn(shape) * (maxval - minval) + minval, dtype))",
        ),
        "normal": (
            "jax.random.normal = lambda key, shape, dtype: jax.numpy.asarray(drawn(shape), dtype)",
        ),
    },
    "pytorch": {
        "bernoulli": (
            "torch.bernoulli = torch.compiler.disable("
            "lambda chances, generator: torch.from_numpy(drawn(chances.shape)) < chances)",
        ),
        "uniform": (
            "torch.rand = torch.compiler.disable("
            "lambda size, dtype, **_: torch.from_numpy(drawn(size)).to(dtype))",
        ),
        "normal": (
            "torch.normal = torch.compiler.disable("
            "lambda m, s, size, dtype, **_: torch.tensor(drawn(size) * s + m, dtype=dtype))",
        ),
    },
    "tensorflow": {
        "bernoulli": (
            "random_ops.stateless_random_uniform = lambda shape, dtype, seed, alg: (",
            "    tf.constant(1 - drawn(sizes(shape))))",
        ),
        "uniform": (
            "tf.random.stateless_uniform = lambda shape, minval, maxval, dtype, seed: (",
            "    tf.constant(drawn(sizes(shape)), dtype) * (maxval - minval) + minval)",
        ),
        "normal": (
            "tf.random.stateless_normal = lambda shape, mean, stddev, dtype, seed: (",
            "    tf.constant(drawn(sizes(shape)) * stddev + mean, dtype))",
        ),
    },
}
#: Lines before them.
_BEFORE: dict[str, tuple[str, ...]] = {
    "jax": (),
    # Without a seed of the layer's own, PyTorch drops by a function that takes no numbers.
    "pytorch": (
        "keras.random.SeedGenerator._initial_seed = property(lambda s: 0, lambda s, seed: None)",
    ),
    "tensorflow": (
        "sizes = lambda shape: tuple(tf.get_static_value(tf.convert_to_tensor(shape, 'int32')))",
    ),
}
_IMPORTS = {
    "jax": ("import jax",),
    "pytorch": ("import torch",),
    "tensorflow": (
        "import tensorflow as tf",
        "from tensorflow.python.ops import stateless_random_ops as random_ops",
    ),
}


def draws_code(library: str, graph: Graph) -> Code | None:
    """Imports and lines that fix what the layers of a model draw; None where no short ones do.

    Args:
        library: that draws.
        graph: a model with layers that draw.
    """
    random = random_layers(graph)
    kinds = [_ONCE.get(node.type) for node in graph.nodes.values() if node.type in random]
    kind = kinds[0] if len(kinds) == 1 else None
    if kind is None or library not in _REPLACED:
        return None
    made = (_DRAWN[kind], *_BEFORE[library], *_REPLACED[library][kind])
    return Code(_IMPORTS[library], made)
