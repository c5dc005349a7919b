"""Backends: the ways to run a model, each named ``library:option``."""

from __future__ import annotations

from collections.abc import Iterable

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import closest
from asterism.libraries.adapters.library import CONVERTERS, LIBRARIES

#: Runs in float64 that share no kernel with each other: a majority of them says what is right.
INDEPENDENT = ("pytorch:float64", "jax:float64", "numpy:float64")
#: All runs in float64 that the oracle compares with; not libraries under test.
REFERENCES = (*INDEPENDENT, "tensorflow:float64")
#: The float64 run whose inputs and weights are off by rounding, and the one without that.
PERTURBED, PERTURBED_FROM = "pytorch:perturbed", "pytorch:float64"
#: All that runs in float64.
FLOAT64 = (*REFERENCES, PERTURBED)


def library_of(backend: str) -> str:
    """The library of a backend."""
    return backend.partition(":")[0]


def option_of(backend: str) -> str:
    """Which of its library's ways to run a model a backend is."""
    return backend.partition(":")[2]


def converter_of(backend: str) -> str | None:
    """The converter whose file a backend reads, or None."""
    return LIBRARIES[library_of(backend)]().source(option_of(backend))


def under_test(backends: Iterable[str]) -> list[str]:
    """Backends under test: no references."""
    return [r for r in backends if r not in FLOAT64]


def is_backend(name: str) -> bool:
    """Whether there is a backend, a reference or a converter of that name."""
    library, option = library_of(name), option_of(name)
    return name in CONVERTERS or (
        library in LIBRARIES and option in LIBRARIES[library].all_options()
    )


def check_backends(backends: Iterable[str]) -> None:
    """Reject a backend that does not exist, or that is a reference and so not under test.

    Raises:
        UserError: its library or option is not known.
    """
    for backend in backends:
        library, option = library_of(backend), option_of(backend)
        known = [o for o in LIBRARIES[library].all_options() if f"{library}:{o}" not in FLOAT64]
        if option not in known:
            hint = closest(option, known)
            raise UserError(
                f"{library} has no backend {option!r}{hint} (known: {', '.join(known)})"
            )
