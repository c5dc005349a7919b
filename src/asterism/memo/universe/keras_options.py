"""Options read off the installed Keras' own registries, so that the universe follows it.

Each list is read when it is first asked for: shape inference never asks, and a process that does
nothing else never imports Keras.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

from asterism.memo.universe.parameters import Choice

#: Initializers that fill a vector: the others need a fan-in or make a matrix.
_FOR_VECTORS = ("ones", "zeros", "random_normal", "random_uniform", "truncated_normal")

#: How parameters end that say how weights are made or trained: an output depends on none of them
#: once the weights are there.
OF_WEIGHTS = ("_initializer", "_regularizer", "_constraint")

#: A list of options that is read later.
Options = Callable[[], tuple[str, ...]]


@cache
def activations() -> tuple[str, ...]:
    """Activations that a name is enough for.

    ``glu`` is left out: it halves an axis, which no layer's own shape rule knows of.
    """
    # The public modules export functions without their list; this is the list that Keras' own
    # `get` looks names up in. So it is with the others below.
    from keras.src.activations import ALL_OBJECTS_DICT

    return tuple(sorted(n for n, f in ALL_OBJECTS_DICT.items() if n != "glu" and _by_name(f)))


@cache
def kernel_initializers() -> tuple[str, ...]:
    """Initializers of a matrix of weights.

    Identity and STFT fill only matrices of their own shapes, Constant has no value by name.
    """
    from keras.src.initializers import ALL_OBJECTS

    return _names(ALL_OBJECTS, {"Initializer", "Identity", "STFT", "Constant"})


@cache
def vector_initializers() -> tuple[str, ...]:
    """Initializers of a vector of weights."""
    return tuple(name for name in kernel_initializers() if name in _FOR_VECTORS)


@cache
def regularizers() -> tuple[str, ...]:
    """Regularizers, and none; the orthogonal one takes matrices only."""
    from keras.src.regularizers import ALL_OBJECTS

    return ("none", *_names(ALL_OBJECTS, {"Regularizer", "OrthogonalRegularizer"}))


@cache
def constraints() -> tuple[str, ...]:
    """Constraints, and none."""
    from keras.src.constraints import ALL_OBJECTS

    return ("none", *_names(ALL_OBJECTS, {"Constraint"}))


def activation(name: str = "activation", default: str = "linear") -> Choice:
    """An activation by name."""
    return Choice(name, default, activations)


def kernel(prefix: str = "kernel", initializer: str = "glorot_uniform") -> tuple[Choice, ...]:
    """Initializer, regulariser and constraint of a matrix of weights."""
    return _weight(prefix, initializer, kernel_initializers)


def vector(prefix: str = "bias", initializer: str = "zeros") -> tuple[Choice, ...]:
    """Initializer, regulariser and constraint of a vector of weights."""
    return _weight(prefix, initializer, vector_initializers)


def _weight(prefix: str, initializer: str, initializers: Options) -> tuple[Choice, ...]:
    return (
        Choice(f"{prefix}_initializer", initializer, initializers),
        Choice(f"{prefix}_regularizer", "none", regularizers),
        Choice(f"{prefix}_constraint", "none", constraints),
    )


def _by_name(function: object) -> bool:
    """Whether a call with the tensor alone is enough (``threshold`` wants two more values)."""
    assert callable(function)
    parameters = list(inspect.signature(function).parameters.values())
    return all(p.default is not inspect.Parameter.empty for p in parameters[1:])


def _names(classes: object, without: set[str]) -> tuple[str, ...]:
    from keras.src.utils.naming import to_snake_case

    assert isinstance(classes, set | frozenset | list | tuple)
    return tuple(sorted(to_snake_case(c.__name__) for c in classes if c.__name__ not in without))
