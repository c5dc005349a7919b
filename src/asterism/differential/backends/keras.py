"""Keras' own code in another version, on the JAX that goes with it."""

from __future__ import annotations

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.jax import Jax


@LIBRARIES.register("keras")
class KerasItself(Jax):
    """Keras in an environment of its own, ``keras@3.8``; the installed one is what all others use.

    It runs on JAX, whose kernels are those of the installed JAX: what differs is Keras' doing.
    """

    name = "keras"
    packages = ("keras", "jax", "jaxlib")
    options = ("jit", "eager")
    unsupported = (
        r"module 'keras[\w.]*' has no attribute",
        r"Unrecognized keyword arguments",
        r"got an unexpected keyword argument",
    )
