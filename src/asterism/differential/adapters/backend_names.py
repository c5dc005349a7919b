"""Backends: the ways to run a model, each named ``library:option``.

``library@version:option`` is one in an environment of its own (:mod:`.environments`), beside the
version that is installed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import suggest_closest
from asterism.differential.adapters.library import (
    CONVERTERS,
    GIVEN,
    LIBRARIES,
    FileLibrary,
    FileReference,
    Library,
)
from asterism.differential.reference.runs import ReferenceRuns

#: What generated models compute.
OF_GRAPHS = ReferenceRuns("pytorch", ("jax:float64", "numpy:float64", "tensorflow:float64"))
#: What ONNX files compute.
OF_ONNX = ReferenceRuns("onnx_reference", steps=True)

#: Runs in float64 that the oracle compares generated models with; not libraries under test.
REFERENCES = OF_GRAPHS.references
#: Those that share no kernel with each other: a majority of them says what is right.
INDEPENDENT = REFERENCES[:3]
#: All that runs generated models in float64.
FLOAT64 = OF_GRAPHS.all


@cache
def file_references() -> dict[str, ReferenceRuns]:
    """The float64 runs of models that are given as files, by the files' suffix."""
    kinds = [LIBRARIES[name] for name in LIBRARIES]
    return {kind.suffix: kind.references for kind in kinds if issubclass(kind, FileReference)}


@cache
def all_references() -> tuple[ReferenceRuns, ...]:
    """The float64 runs of generated models and of each kind of file."""
    return OF_GRAPHS, *file_references().values()


@cache
def float64_runs() -> frozenset[str]:
    """All runs in float64: none of them is a library under test."""
    return frozenset(run for runs in all_references() for run in runs.all)


@cache
def find_coarse_perturbed_runs() -> dict[str, str]:
    """The perturbed runs of dtypes coarser than float32, each with its dtype.

    They are asked for only where something computes in that dtype.
    """
    every = (pair for runs in all_references() for pair in runs.perturbed.items())
    return {run: dtype for dtype, names in every if dtype != "float32" for run in names}


def library_of(backend: str) -> str:
    """The library of a backend, with the environment that it names: ``onnxruntime@1.20``.

    The worker that it runs in has this name. A converter, which has a worker of its own, is itself.
    """
    return backend.partition(":")[0]


def product_of(library: str) -> str:
    """The library without its environment: two versions of it are one product."""
    return library.partition("@")[0]


def plugin_of(library: str) -> type[Library]:
    """The plug-in of a library, in whatever environment."""
    return LIBRARIES[product_of(library)]


def option_of(backend: str) -> str:
    """The part of a backend's name that says how its library runs a model."""
    return backend.partition(":")[2]


def converter_of(backend: str) -> str | None:
    """The converter whose file a backend reads, or None."""
    return plugin_of(library_of(backend))().source(option_of(backend))


def precision_of(backend: str) -> str | None:
    """The dtype that a backend rounds to, where it is coarser than the model's own; or None."""
    return plugin_of(library_of(backend))().precision(option_of(backend))


def reads_given_files(backend: str) -> bool:
    """Whether a backend runs a model that is given as a file, and no other."""
    kind = plugin_of(library_of(backend))
    return option_of(backend).startswith(GIVEN) or issubclass(kind, FileReference)


def suffix_of(backend: str) -> str:
    """The suffix of the files that a backend reads; empty if it builds from Keras."""
    kind = plugin_of(library_of(backend))
    return kind.suffix if issubclass(kind, FileLibrary) else ""


def select_under_test(backends: Iterable[str]) -> list[str]:
    """The backends that are no references."""
    return [r for r in backends if r not in float64_runs()]


def is_backend(name: str) -> bool:
    """Whether there is a backend, a reference or a converter of that name."""
    product, option = product_of(library_of(name)), option_of(name)
    return name in CONVERTERS or (
        product in LIBRARIES and option in LIBRARIES[product].all_options()
    )


def check_backends(backends: Iterable[str]) -> None:
    """Reject a backend that does not exist, or that runs no generated models.

    Raises:
        UserError: its library or option is not known, or it is a reference or reads given files.
    """
    for backend in backends:
        library, option = library_of(backend), option_of(backend)
        options = plugin_of(library).all_options()
        named = (f"{library}:{o}" for o in options)
        known = [option_of(b) for b in named if select_under_test([b]) and not reads_given_files(b)]
        if option not in known:
            hint = suggest_closest(option, known)
            raise UserError(
                f"{library} has no backend {option!r}{hint} (known: {', '.join(known)})"
            )
