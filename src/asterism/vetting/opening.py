"""Opening what is vetted: the inputs in the form that the models take, and the two models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.hashes import hash_path
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.core.random_streams import stream
from asterism.data.given import ArrayInputs, GivenInputs, read_inputs
from asterism.data.kinds import Shaping
from asterism.dflare.comparisons import Comparison, build_comparison, find_unanswered_inputs
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.domains import Domain, build_domain
from asterism.dflare.pair import ModelPair, PairedOutputs
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.answers import OutputForm
from asterism.models.tensor_models.model import OpeningRequest
from asterism.models.tensor_models.subjects import FileSubject, OpenModel, Subject, subject_of
from asterism.vetting.kept_answers import KeptAnswers
from asterism.vetting.params import Operators, VetParams, VetStageParams


@dataclass(frozen=True)
class GivenPair:
    """A pair of models and inputs for it, as they were given.

    Attributes:
        original: the original model.
        compressed: its compressed version.
        inputs: a file, a folder, or arrays.
        keeps_answers: whether the answers of files are kept and taken from earlier runs, see
            :class:`.KeptAnswers`.
    """

    original: Subject
    compressed: Subject
    inputs: Path | ArrayInputs
    keeps_answers: bool = False

    @staticmethod
    def by_files(params: VetParams, keeps_answers: bool = False) -> GivenPair:
        """The pair of the files that parameters name."""
        original, compressed, inputs = map(
            Path, (params.original, params.compressed, params.inputs)
        )
        return GivenPair(FileSubject(original), FileSubject(compressed), inputs, keeps_answers)

    def hashes(self, labels: Path | None) -> dict[str, str]:
        """SHA-256 of every file and array of the pair, by name.

        Args:
            labels: a file of labels; None for none.
        """
        inputs = self.inputs
        digests = {
            "original": self.original.digest,
            "compressed": self.compressed.digest,
            "inputs": inputs.digest() if isinstance(inputs, ArrayInputs) else hash_path(inputs),
            "labels": None if labels is None else hash_path(labels),
        }
        return {name: digest for name, digest in digests.items() if digest is not None}

    @property
    def subjects(self) -> tuple[Subject, Subject]:
        """Both models."""
        return self.original, self.compressed


@dataclass(frozen=True)
class VettingSession:
    """A pair with its inputs, opened to be vetted.

    Attributes:
        params: what is asked.
        given: where models and inputs come from.
        inputs: the given inputs.
        original: the original model, open.
        compressed: the compressed model, open.
        pair: both models, which are asked at once.
        comparison: when they deviate.
        notes: what was settled without being told, by the file's name or ``inputs``.
        answers: what both models say about the given inputs.
    """

    params: VetParams
    given: GivenPair
    inputs: GivenInputs
    original: OpenModel
    compressed: OpenModel
    pair: ModelPair
    comparison: Comparison
    notes: dict[str, tuple[str, ...]]
    answers: PairedOutputs

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each compared output for one item, by the output's name."""
        return self.original.form.shapes

    @cached_property
    def deviates(self) -> NDArray[np.bool_]:
        """For each given input whether the models deviate on it, bool ``(N,)``."""
        return self.comparison.deviates(self.answers.f, self.answers.g)

    @property
    def agreed(self) -> NDArray[np.int64]:
        """Rows of the given inputs that both models answer alike, ascending, int64."""
        answered = ~find_unanswered_inputs(self.answers.f)
        answered[list(self.answers.failures)] = False
        return np.flatnonzero(answered & ~self.deviates)

    def domain(self, operators: Operators) -> Domain:
        """The kind of inputs with these mutators, ready for the given inputs."""
        domain = build_domain(self.params.domain, operators)
        domain.prepare(self.inputs.items)
        return domain


@contextmanager
def open_vetted(
    params: VetParams, seed: int, pair: GivenPair | None = None
) -> Iterator[VettingSession]:
    """Read the inputs and open both models, files in processes of their own.

    Args:
        params: what is asked.
        seed: the run's seed.
        pair: models and inputs; None for the files that the parameters name.

    Raises:
        UserError: a file cannot be read, the inputs do not fit the models, or the models' answers
            do not fit together.
    """
    pair = pair or GivenPair.by_files(params)
    signatures = [subject.signature for subject in pair.subjects]
    _require_known(params, signatures)
    inputs = draw_inputs(read_given(params, signatures[0], pair.inputs), params.limit, seed)
    with ExitStack() as stack:
        opened = partial(_opened, pair, params, inputs)
        f = stack.enter_context(opened(pair.original))
        g = stack.enter_context(opened(pair.compressed, beside=f.form))
        if len(f.form.rooms) == len(g.form.rooms) and f.form.rooms != g.form.rooms:
            most = _rooms_of_both(f.form, g.form)
            f = stack.enter_context(opened(pair.original, most))
            g = stack.enter_context(opened(pair.compressed, most, f.form))
        yield _paired(params, pair, inputs, f, g)


def open_for_stage(params: VetStageParams) -> AbstractContextManager[VettingSession]:
    """The files that parameters name, open; answers are kept if a later run may use them.

    Raises:
        UserError: as :func:`open_vetted`.
    """
    given = GivenPair.by_files(params.vet, keeps_answers=params.vet.goes_on)
    return open_vetted(params.vet, params.seed, given)


def _rooms_of_both(f: OutputForm, g: OutputForm) -> list[int]:
    """The room that each output needs for the rows of either model, 0 where neither needs one."""
    outputs = zip(f.rooms, g.rooms, f.shapes.values(), g.shapes.values(), strict=True)
    return [max(*rooms, one[0], other[0]) if any(rooms) else 0 for *rooms, one, other in outputs]


@contextmanager
def open_alternative(vetted: VettingSession, other: Path | Subject) -> Iterator[VettingSession]:
    """A session with the same original and inputs, and another compressed model.

    Raises:
        UserError: as :func:`open_vetted`.
    """
    with open_alternative_model(vetted, other) as g:
        pair = replace(vetted.given, compressed=subject_of(other))
        yield _paired(vetted.params, pair, vetted.inputs, vetted.original, g)


def open_alternative_model(vetted: VettingSession, other: Path | Subject) -> OpenModel:
    """Another model for the same inputs, to be used as a context."""
    form = vetted.original.form
    return _opened(vetted.given, vetted.params, vetted.inputs, subject_of(other), form.rooms, form)


def _opened(
    pair: GivenPair,
    params: VetParams,
    inputs: GivenInputs,
    subject: Subject,
    rooms: Sequence[int] | None = None,
    beside: OutputForm | None = None,
) -> OpenModel:
    """A model; one beside the original answers with its outputs as the original has them."""
    images, some, feeding, shapes = inputs.kind == "images", inputs.items[:16], params.feeding, None
    if beside is not None:
        names = [params.counterpart(name) for name in beside.shapes]
        shapes = list(beside.shapes.values())
        if {spec.name for spec in subject.signature.answers}.issuperset(names):
            feeding = feeding.model_copy(update={"outputs": names})
    model = subject.open(OpeningRequest(feeding, images, some, rooms, shapes))
    if not pair.keeps_answers or subject.path is None:
        return model
    return KeptAnswers(model, subject.path, feeding, inputs.items)


def _paired(
    params: VetParams, files: GivenPair, inputs: GivenInputs, f: OpenModel, g: OpenModel
) -> VettingSession:
    """Ask both models about the inputs."""
    if f.classes != g.classes:
        raise UserError(
            f"{f.name} answers {f.form.shapes}, but {g.name} {g.form.shapes}: set "
            "feeding.outputs to outputs that both have"
        )
    comparison = build_comparison(params.comparison, find_row_shape(f.form.shapes))
    if len(f.form.shapes) > 1 and not comparison.several:
        raise UserError(
            f"comparison {params.comparison.kind} compares one output, and there are "
            f"{', '.join(f.form.shapes)}: choose one by feeding.outputs, or the comparison together"
        )
    require_labels(inputs, comparison, f.classes)
    in_process = files.original.path is None and files.compressed.path is None
    pair = ModelPair(f, g, in_process)
    answers = pair.ask(inputs.items)
    comparison.calibrate(answers.f, answers.g)
    notes = {"inputs": inputs.notes, f.name: f.notes, g.name: g.notes}
    return VettingSession(params, files, inputs, f, g, pair, comparison, notes, answers)


def find_row_shape(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a row: that of the only output, or the number of values of several outputs."""
    if len(shapes) == 1:
        return next(iter(shapes.values()))
    return (sum(map(math.prod, shapes.values())),)


def draw_rows(
    rows: NDArray[np.int64], count: int, total: int, seed: int, purpose: str
) -> NDArray[np.int64]:
    """Rows drawn at random; a larger count, and further rows, only add to them.

    Args:
        rows: the rows of the inputs, int64.
        count: how many at most.
        total: how many inputs there are.
        seed: the run's.
        purpose: the purpose of the random numbers.

    Returns:
        Ascending.
    """
    order = stream(seed, "vet", purpose).random(total)[rows]
    return np.sort(rows[np.argsort(order, kind="stable")[:count]])


def require_labels(inputs: GivenInputs, comparison: Comparison, classes: int) -> None:
    """Reject labels that no class of the models corresponds to.

    Raises:
        UserError: there are such.
    """
    if inputs.labels is None or not isinstance(comparison, TopLabelComparison):
        return
    for label in (int(inputs.labels.min()), int(inputs.labels.max())):
        if not 0 <= label < classes:
            raise UserError(
                f"the inputs have the label {label}, and the models tell {classes} classes apart: "
                f"number the labels from 0 to {classes - 1}"
            )


def _require_known(params: VetParams, signatures: Sequence[Signature]) -> None:
    """Reject a constant for an input that neither model has."""
    known = {spec.name for signature in signatures for spec in signature.given}
    for constant in params.feeding.constants:
        if constant.input not in known:
            raise unknown("input of the models", constant.input, sorted(known))


def read_given(
    params: VetParams, signature: Signature, source: Path | ArrayInputs | None = None
) -> GivenInputs:
    """The inputs, in the form that a model expects.

    Args:
        params: what is asked.
        signature: the signature of the model.
        source: a file, a folder, or arrays; None for what the parameters name.
    """
    if isinstance(source, ArrayInputs):
        return source.as_kind(params.domain.kind)
    options: dict[str, Any] = dict(params.domain.options)
    spec = next((s for s in signature.given if s.name == params.feeding.input), signature.given[0])
    shaping = Shaping(
        sizes=() if signature.streams else spec.shape[1:],
        rate=options.get("rate"),
        length=params.length,
        pad=params.feeding.pad,
        fit=params.fit,
    )
    return read_inputs(
        source or Path(params.inputs), params.domain.kind, shaping, params.label_file
    )


def draw_positions(count: int, limit: int, seed: int) -> NDArray[np.int64]:
    """Positions of the inputs that :func:`draw_inputs` draws, in the order drawn."""
    if limit >= count:
        return np.arange(count)
    rows: NDArray[np.int64] = stream(seed, "vet", "inputs").permutation(count)[:limit]
    return rows


def draw_inputs(inputs: GivenInputs, limit: int | None, seed: int) -> GivenInputs:
    """At most ``limit`` inputs, in a random order; a larger limit only adds to them."""
    count = len(inputs.items)
    if limit is None or limit >= count:
        return inputs
    chosen = draw_positions(count, limit, seed)
    return replace(
        inputs,
        items=inputs.items[chosen],
        labels=None if inputs.labels is None else inputs.labels[chosen],
        names=tuple(inputs.names[i] for i in chosen.tolist()),
        notes=(*inputs.notes, f"{limit} of {count} inputs were drawn at random"),
    )
