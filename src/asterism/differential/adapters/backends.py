"""Backends: the ways to run a model, each named ``library:option``.

``library@version:option`` is one in an environment of its own (:mod:`.environments`), beside the
version that is installed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import closest
from asterism.differential.adapters.library import (
    CONVERTERS,
    GIVEN,
    LIBRARIES,
    FileLibrary,
    FileReference,
    Library,
)
from asterism.differential.adapters.reference import FileReferences, perturbed_runs

#: Runs in float64 that share no kernel with each other: a majority of them says what is right.
INDEPENDENT = ("pytorch:float64", "jax:float64", "numpy:float64")
#: All runs in float64 that the oracle compares with; not libraries under test.
REFERENCES = (*INDEPENDENT, "tensorflow:float64")


#: The float64 runs whose inputs and weights are off by rounding, and the one without that.
PERTURBED, PERTURBED_FROM = perturbed_runs("pytorch"), "pytorch:float64"
#: Float64 runs with finite numbers in place of special ones: what is to be judged there follows.
PROBES = ("pytorch:probe_high", "pytorch:probe_low")
#: Float64 runs on other inputs than the ones that are judged.
ON_OTHER_INPUTS = (*chain(*PERTURBED.values()), *PROBES)
#: All that runs in float64.
FLOAT64 = (*REFERENCES, *ON_OTHER_INPUTS)


#: What ONNX files compute.
OF_ONNX = FileReferences("onnx_reference", steps=True)


@cache
def file_references() -> dict[str, FileReferences]:
    """The float64 runs of models that are given as files, by the files' suffix."""
    kinds = [LIBRARIES[name] for name in LIBRARIES]
    return {kind.suffix: kind.references for kind in kinds if issubclass(kind, FileReference)}


@cache
def file_float64() -> tuple[str, ...]:
    """All that runs given files in float64."""
    return tuple(run for references in file_references().values() for run in references.all)


@cache
def probes() -> frozenset[str]:
    """The probes of special inputs, of generated models and of files."""
    return frozenset((*PROBES, *(p for r in file_references().values() for p in r.probes)))


@cache
def coarsely_perturbed() -> dict[str, str]:
    """The perturbed runs of dtypes coarser than float32, each with its dtype.

    They are asked for only where something computes in that dtype.
    """
    every = (PERTURBED, *(references.perturbed for references in file_references().values()))
    return {
        run: dtype for runs in every for dtype in runs if dtype != "float32" for run in runs[dtype]
    }


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
    """Which of its library's ways to run a model a backend is."""
    return backend.partition(":")[2]


def converter_of(backend: str) -> str | None:
    """The converter whose file a backend reads, or None."""
    return plugin_of(library_of(backend))().source(option_of(backend))


def precision_of(backend: str) -> str | None:
    """The dtype that a backend rounds to, where it is coarser than the model's own; or None."""
    return plugin_of(library_of(backend))().precision(option_of(backend))


def reads_given(backend: str) -> bool:
    """Whether a backend runs a model that is given as a file, and no other."""
    return option_of(backend).startswith(GIVEN) or backend in file_float64()


def suffix_of(backend: str) -> str:
    """The suffix of the files that a backend reads; nothing where it builds from Keras."""
    kind = plugin_of(library_of(backend))
    return kind.suffix if issubclass(kind, FileLibrary) else ""


def under_test(backends: Iterable[str]) -> list[str]:
    """Backends under test: no references."""
    return [r for r in backends if r not in (*FLOAT64, *file_float64())]


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
        known = [option_of(b) for b in named if under_test([b]) and not reads_given(b)]
        if option not in known:
            hint = closest(option, known)
            raise UserError(
                f"{library} has no backend {option!r}{hint} (known: {', '.join(known)})"
            )
