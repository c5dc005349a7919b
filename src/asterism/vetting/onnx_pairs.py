"""A vetted pair as two ONNX files, whose nodes can be exchanged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import build_comparison
from asterism.localisation.conversion import (
    LITE_SUFFIXES,
    TransposedTensor,
    as_onnx,
    transpose_tensors,
)
from asterism.localisation.running import Feed as InputsOfCall
from asterism.localisation.running import FilledRun, Run, Stream, run_in_threads
from asterism.localisation.trials import Deviation, Outputs
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.answers import ComparedOutputs
from asterism.models.tensor_models.feeding import Feed
from asterism.vetting.opening import VettingSession, find_row_shape, open_alternative

#: Items that a candidate graph runs on at a time, and numbers of these at most: all tensors of a
#: call are held together.
_BATCH, _NUMBERS = 8, 400_000


@dataclass(frozen=True)
class OnnxPair:
    """Both models as ONNX files.

    Attributes:
        vetted: the pair as it was given.
        original: the original's file, or its conversion; where the compressed model takes pictures
            or gives outputs in another layout, a copy that does so too.
        compressed: the compressed model's file, or its conversion.
        turned: inputs and outputs of that copy, by their names in the original.
        source: the original that was copied; None where none was.
    """

    vetted: VettingSession
    original: Path
    compressed: Path
    turned: Mapping[str, TransposedTensor] = field(default_factory=dict)
    source: Path | None = None

    @cached_property
    def signature(self) -> Signature:
        """The signature of the original, before a copy's axes were turned."""
        return read_signature(self.source or self.original)

    @cached_property
    def compressed_signature(self) -> Signature:
        """The signature of the compressed model."""
        return read_signature(self.compressed)

    def runs(self, items: NDArray[Any]) -> list[Run]:
        """Items as both models take them, a batch at a time.

        Where a file's batch is fixed, the last item fills up the last batch.
        """
        feed = _feed(self.vetted, self.signature)
        fixed = self._batch()
        numbers = int(np.prod(items.shape[1:]))
        size = fixed or max(1, min(_BATCH, _NUMBERS // max(1, numbers)))
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        return [self._filled(feed, part, fixed or len(part)) for part in parts]

    def _batch(self) -> int | None:
        """The items that both models take at a time; None where neither file fixes them.

        Raises:
            UserError: each file fixes another number.
        """
        signatures = self.signature, self.compressed_signature
        sizes = [signature.given[0].shape[0] for signature in signatures]
        fixed = [size for size in sizes if size is not None]
        if len(set(fixed)) > 1:
            raise UserError(
                f"nodes are not exchanged between files that take {fixed[0]} and {fixed[1]} items "
                "at a time: export both with the same batch"
            )
        return fixed[0] if fixed else None

    def _filled(self, feed: Feed, items: NDArray[Any], size: int) -> Run:
        """One run of a batch of so many items."""
        count = len(items)
        run = _run(feed, self.signature, items[np.minimum(np.arange(size), count - 1)])
        if not isinstance(run, Stream):  # calls one after the other are not turned
            run = dict(self._turned(name, value) for name, value in run.items())
        return FilledRun(run, count) if count < size else run

    def _turned(self, name: str, value: NDArray[Any]) -> tuple[str, NDArray[Any]]:
        """An input of the original as an input of both files."""
        if (turned := self.turned.get(name)) is None:
            return name, value
        return turned.name, np.ascontiguousarray(value.transpose(turned.order))

    def _as_originals(self, outputs: Outputs) -> Outputs:
        """Outputs of both files as outputs of the original."""
        renamed = dict(outputs)
        for name, turned in self.turned.items():
            if turned.name in renamed:
                renamed[name] = renamed.pop(turned.name).transpose(turned.backwards)
        return renamed

    def deviation(self) -> Deviation:
        """The function that judges runs as vetting does: 1 for each item on which models deviate.

        Of embeddings, the nearest item is looked for among the original's: a candidate's own of
        all given items are not known, and the better it is, the nearer they are to these.
        """
        vetted, params = self.vetted, self.vetted.params
        comparison = build_comparison(params.comparison, find_row_shape(vetted.shapes))
        comparison.calibrate(vetted.answers.f, vetted.answers.f)
        outputs = ComparedOutputs(
            self.signature, params.feeding.outputs, params.original, vetted.original.form
        )

        def judged(original: Outputs, compressed: Outputs) -> NDArray[Any]:
            original, compressed = map(self._as_originals, (original, compressed))
            count = outputs.count(original)
            f, g = outputs.rows(original, count), outputs.rows(compressed, count)
            return comparison.deviates(f, g).astype(np.float64)

        return judged

    def reproduced(self, items: NDArray[Any]) -> NDArray[Any]:
        """The items on which the ONNX files deviate as well.

        LiteRT's kernels round in other places than ONNX Runtime's, so a conversion may agree
        where the given file deviates.

        Raises:
            UserError: there are none.
        """
        if str(self.compressed) == self.vetted.params.compressed:
            return items
        with open_alternative(self.vetted, self.compressed) as converted:
            answers = converted.pair.ask(items)
            deviating: NDArray[Any] = items[converted.comparison.deviates(answers.f, answers.g)]
        if not len(deviating):
            name = Path(self.vetted.params.compressed).name
            raise UserError(
                f"none of {len(items)} deviations of {name} is left in its ONNX version"
            )
        return deviating


def _feed(vetted: VettingSession, signature: Signature) -> Feed:
    """What a model of the pair takes."""
    return Feed(signature, vetted.params.feeding, vetted.inputs.kind == "images")


def _run(feed: Feed, signature: Signature, items: NDArray[Any]) -> InputsOfCall | Stream:
    """One run of a model on a batch of items."""
    if not signature.streams:
        return feed.inputs(items)
    first, *later = feed.calls(items)
    tensors = first | feed.first_states(len(items))
    # A compressed model may have other names; its inputs are told by their order then.
    ordered = {spec.name: tensors[spec.name] for spec in signature.inputs}
    return Stream(ordered, later, dict(signature.states))


@contextmanager
def open_as_onnx(vetted: VettingSession) -> Iterator[OnnxPair]:
    """Both models as ONNX files; LiteRT files are converted.

    Raises:
        UserError: nodes of such files cannot be exchanged.
    """
    original, compressed = (subject.path for subject in vetted.given.subjects)
    if original is None or compressed is None:
        raise UserError(
            "parts are exchanged between two files of one format, or between two modules of PyTorch"
        )
    if vetted.params.matching:
        raise UserError("nodes are not exchanged between files whose outputs have other names")
    forms = {original.suffix == ".onnx", compressed.suffix == ".onnx"}
    if len(forms) == 2 or compressed.suffix not in (".onnx", *LITE_SUFFIXES):
        raise UserError(
            f"nodes of {original.suffix} and {compressed.suffix} files are not exchanged: give "
            "two ONNX files, or a LiteRT file beside the Keras or LiteRT file that it was made of"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {folder / "original": original, folder / "compressed": compressed}
        for part in files:  # the files may have one name
            part.mkdir()
        first, second = run_in_threads(lambda part: as_onnx(files[part], part), files)
        yield _in_one_layout(OnnxPair(vetted, first, second), folder)


def _in_one_layout(pair: OnnxPair, folder: Path) -> OnnxPair:
    """The pair with a copy of the original that has the layouts of the compressed model."""
    inputs, outputs = _turned_pictures(pair), _turned_outputs(pair)
    if not inputs and not outputs:
        return pair
    target = folder / f"turned-{pair.original.name}"
    copy = transpose_tensors(pair.original, inputs, outputs, target)
    return replace(pair, original=copy, turned={**inputs, **outputs}, source=pair.original)


def _turned_pictures(pair: OnnxPair) -> dict[str, TransposedTensor]:
    """The input that takes pictures, where only one of the models takes channels first."""
    signatures = pair.signature, pair.compressed_signature
    ours, theirs = (_feed(pair.vetted, signature) for signature in signatures)
    if ours.channels_first == theirs.channels_first:
        return {}
    order = (0, 2, 3, 1) if ours.channels_first else (0, 3, 1, 2)
    return {ours.main.name: TransposedTensor(theirs.main.name, order)}


def _turned_outputs(pair: OnnxPair) -> dict[str, TransposedTensor]:
    """The outputs whose channels the compressed model has elsewhere.

    Raises:
        UserError: the first axis of such an output does not count the inputs.
    """
    theirs, moved = pair.compressed_signature.answers, pair.vetted.compressed.form.moved
    named = {spec.name for spec in theirs}
    turned = {}
    for place, spec in enumerate(pair.signature.answers):
        name = spec.name if spec.name in named or place >= len(theirs) else theirs[place].name
        if name not in moved:
            continue
        if pair.vetted.original.form.axes.get(spec.name) != 0:
            raise UserError("nodes are not exchanged between files whose outputs lie elsewhere")
        before, behind = moved[name]
        order = list(range(len(spec.shape)))
        order.insert(before, order.pop(behind))
        turned[spec.name] = TransposedTensor(name, order)
    return turned
