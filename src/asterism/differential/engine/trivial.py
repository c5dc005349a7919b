"""Models that every backend can run: whether one works is tried with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asterism.differential.adapters.backend_names import (
    file_references,
    plugin_of,
    reads_given,
    suffix_of,
)
from asterism.differential.adapters.library import FileReference
from asterism.differential.engine.tasks import GivenFile
from asterism.memo.graphs.graph import Graph, Node, sequential
from asterism.memo.universe.tensors import Tensor


def trivial_models(
    backends: Sequence[str],
) -> Iterator[tuple[Graph | GivenFile, tuple[str, ...]]]:
    """Models of one input of three numbers, and which of some backends are to run each."""
    if built := tuple(b for b in backends if not reads_given(b)):
        dense = Node("Dense", {"units": 2, "dtype": "float32"})
        yield sequential(Tensor((3,)), [lambda _: dense]), built
    for suffix, references in file_references().items():
        if given := tuple(b for b in backends if suffix_of(b) == suffix and reads_given(b)):
            reference = plugin_of(references.library)
            assert issubclass(reference, FileReference)
            yield GivenFile(reference.trivial(), suffix), given
