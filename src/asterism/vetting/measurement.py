"""Measuring a pair: agreement on the given inputs, and flips under natural changes.

How often ordinary inputs flip is measured by strength, kind of change and bound. What a device
computes for the compressed file is compared with what this machine computes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import replacing, write_arrays, write_json
from asterism.core.files.records import record_as_json
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import pluralise
from asterism.core.random_streams import BatchedStreams, stream
from asterism.core.statistics import Share, compute_share
from asterism.dflare.bounds import within_bound
from asterism.dflare.domains import Domain, build_domain
from asterism.dflare.pair import PairQuery
from asterism.dflare.params import BoundParams
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.half_precision import compare_half_precision, describe_half_precision
from asterism.vetting.integer_sums import cuts_sums_off, describe_cut_sums
from asterism.vetting.onnx_pairs import open_as_onnx
from asterism.vetting.opening import VettingSession, draw_rows
from asterism.vetting.params import VetParams
from asterism.vetting.runtime_types import RoundingOperator, find_rounding_operators
from asterism.vetting.symptoms import find_symptoms

#: Inputs that the original's tensors are looked at with, and those that models run on once more.
_LOOKED, _RUN_AGAIN = 500, 200


log = get_logger(__name__)
Items = NDArray[Any]


@dataclass(frozen=True)
class DeviceFindings:
    """Findings about a device that would compute exactly as the file says.

    Attributes:
        unanswered: share of inputs on which it gives no finite answer; None where the file has no
            numbers of 16 bits.
        told: sentences: tensors beyond the range of their type, constants that are lost, nodes
            that ran in another type here than the file says.
        arithmetic: sentences about operators that round by themselves.
    """

    unanswered: Share | None
    told: tuple[str, ...]
    arithmetic: tuple[str, ...]


def compare_with_device(vetted: VettingSession) -> DeviceFindings:
    """Compare the original's tensors with what ONNX Runtime makes of the compressed file."""
    path = vetted.given.compressed.path
    nothing = DeviceFindings(None, (), ())
    if path is None or path.suffix != ".onnx":
        return nothing
    share, told, confidence = None, list[str](), vetted.params.confidence
    try:
        operators = find_rounding_operators(path)
        with open_as_onnx(vetted) as pair:
            runs = pair.runs(vetted.inputs.items[:_LOOKED])
            found = compare_half_precision(pair.original, pair.compressed, runs)
            if any(one.made_here for one in operators) and cuts_sums_off():
                some = slice(_RUN_AGAIN)
                items, deviates = vetted.inputs.items[some], vetted.deviates[some]
                with suppress(UserError):  # what else is known of the file is told all the same
                    told += describe_cut_sums(pair, items, deviates, confidence)
    except UserError:  # another format, or a graph that is not run node by node
        return nothing
    if found is not None:
        lost = found.inputs_beyond if found.unanswered is None else found.unanswered
        share = compute_share(lost, found.inputs, confidence)
        told += describe_half_precision(found)
    return DeviceFindings(share, tuple(told), tuple(map(_describe_rounding, operators)))


def _describe_rounding(one: RoundingOperator) -> str:
    nodes = pluralise(len(one.nodes), "node")
    made = ", which ONNX Runtime made of others" if one.made_here else ""
    cut = "; sums of their products may be cut off on this processor"
    may_cut = "8-bit" in one.how and cuts_sums_off()
    return f"{one.operator} ({nodes}{made}): {one.how}{cut if may_cut else ''}"


#: Bytes of changed inputs and of answers to them that are held at a time; making them takes a few
#: copies in float.
_AT_ONCE = 32_000_000


@dataclass(frozen=True)
class FlipCounts:
    """How often changes of one strength made the models deviate.

    Attributes:
        strength: its name.
        bound: the limit that changes were kept within, as ``linf 8``; empty for none.
        share: inputs on which the models deviate after at least one of the changes, of those on
            which they agree unchanged.
        failed: of these, inputs on which a model failed after a change.
        by_change: the same for each mutator alone.
    """

    strength: str
    bound: str
    share: Share
    failed: int
    by_change: dict[str, Share]


def require_changes(params: VetParams, items: Items) -> float:
    """Try each change on one input, so that a failing one is reported early.

    Args:
        params: the changes.
        items: given inputs, ``(N, ...)``.

    Returns:
        Seconds that a change takes, on average.

    Raises:
        UserError: one fails.
    """
    seconds: list[float] = []
    for operators in (*params.changes.strengths.values(), params.search.operators):
        domain = build_domain(params.domain, operators)
        domain.prepare(items)
        for number, name in enumerate(domain.operators):
            streams, started = BatchedStreams(np.zeros(1, np.uint64)), time.perf_counter()
            try:
                domain.mutate(items[:1], np.full(1, number), streams)
            except UserError:
                raise
            except Exception as error:
                raise UserError(
                    f"the change {name} fails on an input of shape {items.shape[1:]}: {error}"
                ) from error
            seconds.append(time.perf_counter() - started)
    return float(np.mean(seconds))


def measure_flips(vetted: VettingSession, agreed: NDArray[np.int64], seed: int) -> list[FlipCounts]:
    """Change inputs on which both models agree, and count those on which they then deviate.

    Each input is changed once by each mutator. What is done to it depends on no other input.

    Args:
        vetted: what is vetted.
        agreed: rows of the inputs on which both models agree, int64, ascending.
        seed: the run's seed.

    Returns:
        One entry for each strength, and for the strongest one for each bound.
    """
    changes = vetted.params.changes
    count = min(changes.inputs, len(agreed))
    if not count:
        return []
    rows = draw_rows(agreed, count, len(vetted.inputs.items), seed, "changes")
    found = [
        _flips(vetted, name, None, rows, vetted.domain(operators), seed)
        for name, operators in changes.strengths.items()
    ]
    strongest = list(changes.strengths)[-1]
    domain = vetted.domain(changes.strengths[strongest])
    return found + [
        _flips(vetted, strongest, bound, rows, domain, seed) for bound in changes.bounds
    ]


def _flips(
    vetted: VettingSession,
    strength: str,
    bound: BoundParams | None,
    rows: NDArray[np.int64],
    domain: Domain,
    seed: int,
) -> FlipCounts:
    confidence = vetted.params.confidence
    deviates = {name: np.zeros(len(rows), bool) for name in domain.operators}
    failed = np.zeros(len(rows), bool)
    for name, part, question in _asked(vetted, strength, bound, rows, domain, seed):
        answers = question.result()
        deviates[name][part] = vetted.comparison.deviates(answers.f, answers.g)
        failed[part.start + np.array(list(answers.failures), np.int64)] = True
    flipped = np.any(list(deviates.values()), axis=0)
    return FlipCounts(
        strength,
        "" if bound is None else f"{bound.measure} {bound.limit:g}",
        compute_share(int(flipped.sum()), len(rows), confidence),
        int(failed.sum()),
        {name: compute_share(int(d.sum()), len(rows), confidence) for name, d in deviates.items()},
    )


def _asked(
    vetted: VettingSession,
    strength: str,
    bound: BoundParams | None,
    rows: NDArray[np.int64],
    domain: Domain,
    seed: int,
) -> Iterator[tuple[str, slice, PairQuery]]:
    """Changed inputs that both models are asked about, some at a time: a mutator's name, and which.

    The next ones are made while the models are at work.
    """
    items, waiting = vetted.inputs.items, None
    size = max(1, _AT_ONCE // max(1, items[0].nbytes + 8 * vetted.answers.f.shape[1]))
    for number, name in enumerate(domain.operators):
        for start in range(0, len(rows), size):
            part = slice(start, min(start + size, len(rows)))
            key = (seed, "vet", strength, name)
            changed = _changed(domain, number, items[rows[part]], rows[part], bound, key)
            question = vetted.pair.submit(changed)
            if waiting is not None:
                yield waiting
            waiting = name, part, question
    if waiting is not None:
        yield waiting


def _changed(
    domain: Domain,
    number: int,
    items: Items,
    rows: NDArray[np.int64],
    bound: BoundParams | None,
    key: Sequence[Any],
) -> Items:
    """The items, each changed once by one mutator, within the bound."""
    keys = [stream(*key, row).bit_generator.random_raw() for row in rows.tolist()]
    streams = BatchedStreams(np.array(keys, np.uint64))

    def mutate(chosen: NDArray[np.int64], attempt: int) -> Items:
        attempts = np.full(len(chosen), attempt)
        own = streams.of(chosen).below(attempts)
        return domain.mutate(items[chosen], np.full(len(chosen), number), own)

    around = domain.bound_around(items, bound) if bound is not None else None
    return within_bound(around, np.arange(len(items)), items, mutate)


def measure_opened(vetted: VettingSession, seed: int, folder: Path) -> dict[str, Any]:
    """Measure a pair, and write both models' answers into a folder.

    Args:
        vetted: the pair and what is asked.
        seed: the run's seed.
        folder: replaced by ``answers.npz`` (``f``, ``g``: float32 ``(N, K)``; ``deviates`` bool
            ``(N,)``; ``labels`` where there are some) and ``inputs.json`` (names, notes).

    Returns:
        Symptoms, what a device does, agreement and flips, as JSON.
    """
    params = vetted.params
    with replacing(folder) as temporary:
        inputs, answers = vetted.inputs, vetted.answers
        agreement = measure_agreement(
            answers.f, answers.g, vetted.comparison, inputs.labels, params.confidence
        )
        symptoms = find_symptoms(answers.f, answers.g, vetted.shapes)
        alike = agreement.differ.rest
        log.info(
            "compared",
            inputs=alike.total,
            alike=f"{alike.share:.2%}",
            between=f"{alike.low:.2%} and {alike.high:.2%}",
            without_an_answer=agreement.lost,
        )
        device = compare_with_device(vetted)
        flips = measure_flips(vetted, vetted.agreed, seed)
        arrays = {"f": answers.f, "g": answers.g, "deviates": vetted.deviates}
        if inputs.labels is not None:
            arrays["labels"] = inputs.labels
        write_arrays(temporary / "answers.npz", **arrays)
        facts = {
            "kind": inputs.kind,
            "items": len(inputs.items),
            "item_shape": list(inputs.items.shape[1:]),
            "outputs": {name: list(shape) for name, shape in vetted.shapes.items()},
            "names": list(inputs.names),
            "classes": list(inputs.classes),
            "notes": {name: list(notes) for name, notes in vetted.notes.items()},
        }
        write_json(temporary / "inputs.json", facts)
    return {
        "symptoms": [record_as_json(symptom) for symptom in symptoms],
        "device": record_as_json(device),
        "agreement": record_as_json(agreement),
        "flips": [record_as_json(flip) for flip in flips],
    }
