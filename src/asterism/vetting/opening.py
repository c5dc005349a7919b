"""Opening what is vetted: the inputs in the form that the models take, and the two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.core.randomness.random_streams import stream
from asterism.data.given.kind import Shaping
from asterism.data.given.reading import GivenInputs, read_inputs
from asterism.dflare.comparisons import ChosenComparison, build_comparison
from asterism.dflare.comparisons.embeddings import Embedding
from asterism.dflare.domains import ChosenDomain, build_domain
from asterism.dflare.pair import Answers, Pair
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.vetting.params import Operators, VetParams

#: Comparisons whose rows hold one probability for each class.
_SCORES = ("top_label",)


@dataclass(frozen=True)
class Vetted:
    """What is vetted.

    Attributes:
        params: what is asked.
        inputs: the given inputs.
        pair: both models.
        comparison: when they deviate.
        notes: what was settled without being told, by the file's name or ``inputs``.
        shape: of the compared output of one item.
        answers: what both models say about the given inputs.
    """

    params: VetParams
    inputs: GivenInputs
    pair: Pair
    comparison: ChosenComparison
    notes: dict[str, tuple[str, ...]]
    shape: tuple[int, ...]
    answers: Answers

    @property
    def scores(self) -> bool:
        """Whether a row of outputs holds one probability for each class."""
        return self.params.comparison.kind in _SCORES

    def domain(self, operators: Operators) -> ChosenDomain:
        """The kind of inputs with these mutators, ready for the given inputs."""
        domain = build_domain(self.params.domain, operators)
        domain.prepare(self.inputs.items)
        return domain


@contextmanager
def open_vetted(params: VetParams, seed: int) -> Iterator[Vetted]:
    """Read the inputs and open both models, each in a process of its own.

    Raises:
        UserError: a file cannot be read, the inputs do not fit the models, or the models' answers
            do not fit together.
    """
    files = Path(params.original), Path(params.compressed)
    signatures = [read_signature(path) for path in files]
    _require_known(params, signatures)
    inputs = drawn(read_given(params, signatures[0]), params.limit, seed)
    images = inputs.kind == "images"
    probes = inputs.items[:16]
    with (
        IsolatedFileModel(files[0], params.feeding, images, probes) as f,
        IsolatedFileModel(files[1], params.feeding, images, probes) as g,
    ):
        if f.classes != g.classes:
            raise UserError(
                f"{files[0]} answers {f.shapes}, but {files[1]} {g.shapes}: set feeding.outputs to "
                "outputs that both have"
            )
        shape = next(iter(f.shapes.values())) if len(f.shapes) == 1 else (f.classes,)
        comparison = build_comparison(params.comparison, shape)
        pair = Pair(f, g)
        answers = pair.ask(inputs.items)
        if isinstance(comparison, Embedding):
            comparison.know(answers.f, answers.g)
        notes = {"inputs": inputs.notes, f.name: f.notes, g.name: g.notes}
        yield Vetted(params, inputs, pair, comparison, notes, shape, answers)


def _require_known(params: VetParams, signatures: Sequence[Signature]) -> None:
    """Reject a constant for an input that neither model has."""
    known = {spec.name for signature in signatures for spec in signature.given}
    for constant in params.feeding.constants:
        if constant.input not in known:
            raise unknown("input of the models", constant.input, sorted(known))


def read_given(params: VetParams, signature: Signature) -> GivenInputs:
    """The inputs, in the form that a model takes."""
    options: dict[str, Any] = dict(params.domain.options)
    spec = next((s for s in signature.given if s.name == params.feeding.input), signature.given[0])
    shaping = Shaping(
        sizes=() if signature.streams else spec.shape[1:],
        rate=options.get("rate"),
        length=params.length,
        pad=params.feeding.pad,
    )
    labels = params.label_file
    return read_inputs(
        Path(params.inputs), params.domain.kind, shaping, None if labels is None else Path(labels)
    )


def drawn(inputs: GivenInputs, limit: int | None, seed: int) -> GivenInputs:
    """As many of the inputs as are wanted, drawn at random, in their order."""
    count = len(inputs.items)
    if limit is None or limit >= count:
        return inputs
    chosen: NDArray[np.int64] = np.sort(
        stream(seed, "vet", "inputs").choice(count, limit, replace=False)
    )
    return GivenInputs(
        inputs.kind,
        inputs.items[chosen],
        None if inputs.labels is None else inputs.labels[chosen],
        inputs.classes,
        tuple(inputs.names[i] for i in chosen.tolist()),
        (*inputs.notes, f"{limit} of {count} inputs were drawn at random"),
    )
