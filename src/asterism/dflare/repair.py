"""Drepair: repairing a compressed model without touching it, under its protocol (section 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from asterism.core.files.artifacts import write_json
from asterism.core.messages.console import get_logger, progress
from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import options_of
from asterism.core.random_streams import spawn_integer
from asterism.dflare.deploy import write_head
from asterism.dflare.outcome import SearchResult
from asterism.dflare.pair import PairedOutputs
from asterism.dflare.params import RepairParams
from asterism.dflare.repairers import REPAIRERS, Labels, Probabilities, Repairer

log = get_logger(__name__)

#: The status of a repair that helps.
REPAIRED = "repaired"


@dataclass(frozen=True)
class RepairExamples:
    """The answers of the original and of the compressed model to inputs.

    Attributes:
        probabilities: outputs of the compressed model, float32 ``(N, K)``.
        original: labels of the original, int64 ``(N,)``.
        origins: the row of the seed that each is or was found from, int64 ``(N,)``.
        seeds: how many of them, the first ones, are ordinary inputs and not triggering ones.
    """

    probabilities: NDArray[np.float32]
    original: NDArray[np.int64]
    origins: NDArray[np.int64]
    seeds: int

    def __len__(self) -> int:
        return len(self.original)

    @property
    def agreement(self) -> float:
        """Share of the inputs on which the compressed model agrees with the original."""
        return self.agreement_of(self.probabilities.argmax(axis=1))

    def agreement_of(self, labels: NDArray[Any]) -> float:
        """Share of the inputs on which these labels agree with the original."""
        return float((labels == self.original).mean())


def answered_examples(answers: PairedOutputs) -> RepairExamples:
    """The inputs that both models have an answer for."""
    known = [row for row in range(len(answers.f)) if row not in answers.failures]
    labels = answers.f[known].argmax(axis=1).astype(np.int64)
    return RepairExamples(answers.g[known], labels, np.array(known, np.int64), len(known))


def gather_examples(
    seeds: PairedOutputs, numbers: Sequence[int], findings: SearchResult
) -> RepairExamples:
    """Seeds and triggering inputs, as examples to learn from.

    Args:
        seeds: both models' outputs for the seeds.
        numbers: what findings call each seed.
        findings: the triggering inputs with both outputs.
    """
    known = answered_examples(seeds)
    rows = {int(number): row for row, number in enumerate(numbers)}
    labels = np.array([t.f.argmax() for t in findings.triggers], np.int64)
    origins = np.array([rows[t.seed] for t in findings.triggers], np.int64)
    return RepairExamples(
        np.concatenate([known.probabilities, *(t.g[np.newaxis] for t in findings.triggers)]),
        np.concatenate([known.original, labels]),
        np.concatenate([known.origins, origins]),
        known.seeds,
    )


def why_not_repairable(examples: RepairExamples) -> str:
    """Why no repairer can learn from these examples; empty if one can."""
    if not len(examples):
        return "a model failed on every seed: there is nothing to learn a repair from"
    if examples.agreement == 1.0:
        return (
            "no seed deviates and the search found no triggering input: there is nothing to learn "
            "a repair from"
        )
    if len(np.unique(examples.original)) == 1:
        return (
            "the original gives all seeds and triggering inputs the same label: there is nothing "
            "to learn a repair from"
        )
    return ""


@dataclass(frozen=True)
class RepairCounts:
    """What a repairer did on inputs from which it had not learnt.

    Attributes:
        inputs: how many there were.
        deviating: those on which the compressed model deviated from the original.
        repaired: deviating before, agreeing after: the repair count.
        induced: agreeing before, deviating after: the inducing count.
    """

    inputs: int
    deviating: int
    repaired: int
    induced: int

    @property
    def improvement(self) -> int:
        """Repair count less inducing count."""
        return self.repaired - self.induced

    @property
    def repair_ratio(self) -> float:
        """Share of the deviating inputs that are repaired; 0 where there are none."""
        return self.repaired / max(1, self.deviating)

    @property
    def inducing_ratio(self) -> float:
        """Share of the agreeing inputs, which are seeds, that are broken; 0 without any."""
        return self.induced / max(1, self.inputs - self.deviating)


def count_repairs(original: Labels, compressed: Labels, repaired: Labels) -> RepairCounts:
    """Counts over inputs, from the labels that the three models give them, int64 ``(N,)``."""
    deviated = compressed != original
    deviates = repaired != original
    return RepairCounts(
        inputs=len(original),
        deviating=int(deviated.sum()),
        repaired=int((deviated & ~deviates).sum()),
        induced=int((~deviated & deviates).sum()),
    )


def cross_validate(
    make: Callable[[int], Repairer], examples: RepairExamples, folds: int, repeats: int, seed: int
) -> list[Labels]:
    """Repaired labels of held-out inputs: every input is held out once in each repetition.

    Args:
        make: an untrained repairer from its random seed.
        examples: the inputs; a seed and what was found from it are held out together.
        folds: parts; no more than there are seeds.
        repeats: repetitions, each of which divides the inputs anew.
        seed: the run's seed.

    Returns:
        The labels of each repetition, int64 ``(N,)``.
    """
    results = []
    for repeat in range(repeats):
        own_seed = spawn_integer(seed, "repair", "cross-validation", repeat)
        repaired = np.empty(len(examples), np.int64)
        parts = GroupKFold(folds, shuffle=True, random_state=own_seed)
        for learn, held_out in parts.split(examples.original, groups=examples.origins):
            repaired[held_out] = _repaired_labels(
                make(own_seed),
                examples.probabilities[learn],
                examples.original[learn],
                examples.probabilities[held_out],
            )
        results.append(repaired)
    return results


def _repaired_labels(
    repairer: Repairer, learnt: Probabilities, labels: Labels, unseen: Probabilities
) -> NDArray[np.int64]:
    if len(np.unique(labels)) == 1:  # nothing to tell apart
        return np.full(len(unseen), labels[0], np.int64)
    repairer.fit(learnt, labels)
    return repairer.labels(unseen)


def compare_repairers(
    params: RepairParams, examples: RepairExamples, test: RepairExamples, seed: int
) -> dict[str, dict[str, Any]]:
    """Every repairer of ``params`` under Drepair's protocol, and its effect on other images.

    Args:
        params: repairers and protocol.
        examples: seeds and triggering inputs.
        test: images that are neither.
        seed: the run's seed.

    Returns:
        For each repairer its counts and ratios (means over the repetitions), what it does to the
        agreement on held-out seeds, the agreement on the test images before and after, and
        whether it lowers that (all three None where there are no test images).

    Raises:
        UserError: there are fewer seeds than folds.
    """
    origins = len(np.unique(examples.origins))
    if origins < params.folds:
        raise UserError(
            f"the inputs of {origins} seeds cannot be divided into {params.folds} folds: raise "
            "trigger.seeds or lower repair.folds"
        )
    results = {}
    for name in progress(params.repairers, label="repairers", unit="repairer"):
        repaired = cross_validate(
            lambda own_seed, name=name: make_repairer(params, name, examples, own_seed),  # type: ignore[misc]
            examples,
            params.folds,
            params.repeats,
            seed,
        )
        results[name] = _averages(examples, repaired) | {
            "test_images": len(test),
            **_effect_on(test, params, name, examples, seed),
        }
        log.info("compared", repairer=name, improvement=results[name]["improvement_ratio"])
    return results


def choose_repairer(results: dict[str, dict[str, Any]]) -> str:
    """The best repairer by the cross-validation; ties: the first.

    Seeds are ordinary inputs, so what a repairer does to held-out seeds is what it will do in
    use. The largest improvement wins among those that lose no agreement there; where all of them
    lose some, the one that loses least.
    """

    def rank(name: str) -> tuple[float, float]:
        lost = min(0.0, float(results[name]["seed_agreement_gain"]))
        return lost, float(results[name]["improvement_ratio"])

    return max(results, key=rank)


def repair_status(result: dict[str, Any]) -> str:
    """What came of a repair, by the cross-validation of the chosen repairer."""
    if result["improvement_count"] > 0:
        return REPAIRED
    return "nothing gained: the chosen repairer breaks at least as many inputs as it repairs"


def make_repairer(params: RepairParams, name: str, examples: RepairExamples, seed: int) -> Repairer:
    """An untrained repairer by its name."""
    options = options_of(REPAIRERS, name, params.repairers[name])
    return REPAIRERS[name](options, examples.probabilities.shape[1], seed)


def train_repairer(
    params: RepairParams, name: str, examples: RepairExamples, seed: int
) -> Repairer:
    """A repairer that has learnt from all examples."""
    repairer = make_repairer(params, name, examples, spawn_integer(seed, "repair", name))
    repairer.fit(examples.probabilities, examples.original)
    return repairer


def save_repairer(repairer: Repairer, name: str, folder: Path, logits: bool) -> None:
    """Write ``head.onnx``, which takes what the compressed model's file gives, and what it is."""
    write_head(repairer, folder / "head.onnx", logits)
    write_json(folder / "repairer.json", {"repairer": name, "classes": repairer.classes})


def _effect_on(
    test: RepairExamples, params: RepairParams, name: str, examples: RepairExamples, seed: int
) -> dict[str, Any]:
    """What a repairer that has learnt from all examples does to other images."""
    before = after = lowers = None
    if len(test):
        before = test.agreement
        repairer = train_repairer(params, name, examples, seed)
        after = test.agreement_of(repairer.labels(test.probabilities))
        lowers = after < before
    return {
        "test_agreement_before": before,
        "test_agreement_after": after,
        "lowers_test_agreement": lowers,
    }


def _averages(examples: RepairExamples, repetitions: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Means over the repetitions of a cross-validation."""
    compressed, seeds = examples.probabilities.argmax(axis=1), slice(examples.seeds)
    counts = [count_repairs(examples.original, compressed, labels) for labels in repetitions]
    of_seeds = [
        count_repairs(examples.original[seeds], compressed[seeds], labels[seeds])
        for labels in repetitions
    ]

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    return {
        "inputs": counts[0].inputs,
        "deviating": counts[0].deviating,
        "repair_count": mean([c.repaired for c in counts]),
        "inducing_count": mean([c.induced for c in counts]),
        "improvement_count": mean([c.improvement for c in counts]),
        "repair_ratio": mean([c.repair_ratio for c in counts]),
        "inducing_ratio": mean([c.inducing_ratio for c in counts]),
        "improvement_ratio": mean([c.repair_ratio - c.inducing_ratio for c in counts]),
        "seed_agreement_gain": mean([c.improvement / max(1, c.inputs) for c in of_seeds]),
    }
