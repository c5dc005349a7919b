"""Options read off the installed Keras' own registries, so that the universe follows it."""

from __future__ import annotations

import inspect

# The public modules export functions without their list; this is the list that Keras' own `get`
# looks names up in.
from keras.src.activations import ALL_OBJECTS_DICT as _ACTIVATIONS
from keras.src.constraints import ALL_OBJECTS as _CONSTRAINTS
from keras.src.initializers import ALL_OBJECTS as _INITIALIZERS
from keras.src.regularizers import ALL_OBJECTS as _REGULARIZERS
from keras.src.utils.naming import to_snake_case

from asterism.memo.parameters import Choice


def _works_by_name(function: object) -> bool:
    """Whether a call with the tensor alone is enough (``threshold`` wants two more values)."""
    assert callable(function)
    parameters = list(inspect.signature(function).parameters.values())
    return all(p.default is not inspect.Parameter.empty for p in parameters[1:])


#: ``glu`` halves an axis, which no layer's own shape rule knows of.
ACTIVATIONS: tuple[str, ...] = tuple(
    sorted(n for n, f in _ACTIVATIONS.items() if n != "glu" and _works_by_name(f))
)


def _names(classes: object, without: set[str]) -> tuple[str, ...]:
    assert isinstance(classes, set | frozenset | list | tuple)
    return tuple(sorted(to_snake_case(c.__name__) for c in classes if c.__name__ not in without))


#: Identity and STFT fill only matrices of their own shapes, Constant has no value by name.
KERNEL_INITIALIZERS = _names(_INITIALIZERS, {"Initializer", "Identity", "STFT", "Constant"})
#: What needs a fan-in or an orthogonal matrix has no meaning for a vector.
VECTOR_INITIALIZERS = tuple(
    name
    for name in KERNEL_INITIALIZERS
    if name in ("ones", "zeros", "random_normal", "random_uniform", "truncated_normal")
)
#: The orthogonal regulariser takes matrices only.
REGULARIZERS = _names(_REGULARIZERS, {"Regularizer", "OrthogonalRegularizer"})
CONSTRAINTS = _names(_CONSTRAINTS, {"Constraint"})


def activation(name: str = "activation", default: str = "linear") -> Choice:
    """An activation by name."""
    return Choice(name, default, ACTIVATIONS)


def kernel(prefix: str = "kernel", initializer: str = "glorot_uniform") -> tuple[Choice, ...]:
    """Initializer, regulariser and constraint of a matrix of weights."""
    return _weight(prefix, initializer, KERNEL_INITIALIZERS)


def vector(prefix: str = "bias", initializer: str = "zeros") -> tuple[Choice, ...]:
    """Initializer, regulariser and constraint of a vector of weights."""
    return _weight(prefix, initializer, VECTOR_INITIALIZERS)


def _weight(prefix: str, initializer: str, initializers: tuple[str, ...]) -> tuple[Choice, ...]:
    return (
        Choice(f"{prefix}_initializer", initializer, initializers),
        Choice(f"{prefix}_regularizer", "none", ("none", *REGULARIZERS)),
        Choice(f"{prefix}_constraint", "none", ("none", *CONSTRAINTS)),
    )
