"""Measuring a test set: importance-driven coverage and the other criteria, with controls.

The result files hold important neurons, their clusters, and the inputs that cover them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import AugmentationSet, InputSplit, prefix_facts
from asterism.core.files.artifacts import write_arrays, write_json
from asterism.core.messages.console import progress
from asterism.criteria.families import ActivationCriterion
from asterism.deepimportance.controls import ControlledAugmentation, draw_controls
from asterism.deepimportance.coverage import Combinations, ImportanceDrivenCoverage
from asterism.deepimportance.fitting import FittedCriteria, extend_criteria
from asterism.deepimportance.params import ImportanceParams

Numbers = dict[str, Any]


@dataclass(frozen=True)
class ExercisingInputs:
    """For one number of important neurons, which inputs exercise which combinations.

    Attributes:
        subset: int64, positions in the test set of a smallest subset with the same IDC.
        subsets: by augmentation, positions in it of a smallest subset with the IDC that it has
            alone.
        new: by augmentation, the combinations that only it reaches; inputs are positions in the
            augmentation.
    """

    subset: NDArray[np.int64]
    subsets: dict[str, NDArray[np.int64]]
    new: dict[str, Combinations]


@dataclass(frozen=True)
class AdequacyMeasurement:
    """A measurement of what a test set and its augmentations exercise.

    Attributes:
        metrics: every number, nested by set and criterion.
        rows: the same as a table, a row for each set and criterion.
        exercised: which inputs do, by the coverage's name (``idc_8``).
    """

    metrics: Numbers
    rows: list[Numbers]
    exercised: dict[str, ExercisingInputs]


def measure_adequacy(
    fitted: FittedCriteria,
    base: NDArray[Any],
    rest: NDArray[Any],
    augmentations: Mapping[str, ControlledAugmentation],
) -> AdequacyMeasurement:
    """Coverage of a test set, alone and with each augmentation, beside that of its controls.

    Args:
        fitted: what the training set taught.
        base: the test set, uint8 images or pixels in [0, 1].
        rest: the other test inputs; how far they and the test set go together is measured too.
        augmentations: what is added, each on its own, with controls.
    """
    alone = fitted.exercised(base)
    values = _values(alone)
    together = _values(extend_criteria(fitted.tracer, alone, rest))
    idc = {name: _idc(alone, name) for name in fitted.idc}
    metrics: Numbers = {
        "test_set": {"inputs": len(base), **values},
        "all_tests": {"inputs": len(base) + len(rest), **together},
        "combinations": {name: coverage.combinations for name, coverage in idc.items()},
        "smallest_subset": {name: len(coverage.covered) for name, coverage in idc.items()},
        "augmentations": {},
    }
    rows = [_row("test set", name, value) for name, value in values.items()]
    rows += [_row("all tests", name, value) for name, value in together.items()]
    exercised = {
        m: ExercisingInputs(coverage.smallest_subset(), {}, {}) for m, coverage in idc.items()
    }
    for name, compared in progress(list(augmentations.items()), label="measuring", unit="set"):
        union = extend_criteria(fitted.tracer, alone, compared.added)
        itself = extend_criteria(fitted.tracer, fitted.idc, compared.added)
        found = _numbers(alone, union)
        clean, noise = (
            [_numbers(alone, extend_criteria(fitted.tracer, alone, draw)) for draw in draws]
            for draws in (compared.clean(), compared.noise())
        )
        held = {key: _held_against(found[key], key, clean, noise) for key in found}
        metrics["augmentations"][name] = {
            "inputs": len(compared.added),
            "draws": len(clean),
            **{criterion: held[criterion] for criterion in values},
            "new_combinations": {m: held[f"new_{m}"] for m in idc},
            "smallest_subset": {m: len(itself[m].covered) for m in idc},
            "smallest_subset_of_union": {m: len(union[m].covered) for m in idc},
        }
        rows += [_row(f"+ {name}", criterion, **held[criterion]) for criterion in values]
        for m, inputs in exercised.items():
            inputs.subsets[name] = _idc(itself, m).smallest_subset()
            reached = _idc(union, m).exercised(since=len(base))
            inputs.new[name] = replace(reached, inputs=reached.inputs - len(base))
    return AdequacyMeasurement(metrics, rows, exercised)


def measure_augmented(
    fitted: FittedCriteria,
    images: NDArray[Any],
    split: InputSplit,
    augmentations: Mapping[str, AugmentationSet],
    importance: ImportanceParams,
    seed: int,
) -> AdequacyMeasurement:
    """Coverage of a test set, alone and with each augmentation, whose controls are drawn.

    Args:
        fitted: what the training set taught.
        images: all test inputs.
        split: which of them are the test set, and the pool of other ones.
        augmentations: what is added, by name.
        importance: how many controls there are.
        seed: root of the random streams.

    Raises:
        UserError: for an augmentation no control can be drawn.
    """
    draws, noise = importance.draws, importance.noise_std
    controlled = {
        name: draw_controls(added, name, images, split, draws, noise, seed)
        for name, added in augmentations.items()
    }
    return measure_adequacy(fitted, images[split.base], images[split.pool], controlled)


def _idc(criteria: Mapping[str, ActivationCriterion], name: str) -> ImportanceDrivenCoverage:
    coverage = criteria[name]
    assert isinstance(coverage, ImportanceDrivenCoverage)
    return coverage


def _numbers(
    alone: Mapping[str, ActivationCriterion], union: Mapping[str, ActivationCriterion]
) -> Numbers:
    """Every criterion's value for a union with the test set, and the combinations gained."""
    gained = {
        f"new_{name}": len(coverage.covered) - len(alone[name].covered)
        for name, coverage in union.items()
        if isinstance(coverage, ImportanceDrivenCoverage)
    }
    return _values(union) | gained


def _values(criteria: Mapping[str, ActivationCriterion]) -> dict[str, float]:
    return {name: criterion.value() for name, criterion in criteria.items()}


def _held_against(
    value: float, key: str, clean: Iterable[Numbers], noise: Iterable[Numbers]
) -> Numbers:
    return {
        "value": value,
        **_spread("clean", [draw[key] for draw in clean]),
        **_spread("noise", [draw[key] for draw in noise]),
    }


def _spread(name: str, values: list[float]) -> Numbers:
    """Mean and sample standard deviation over draws; None for that of a single draw."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {f"{name}_mean": float(np.mean(values)), f"{name}_std": deviation}


def _row(inputs: str, criterion: str, value: float, **controls: float | None) -> Numbers:
    empty = dict.fromkeys(("clean_mean", "clean_std", "noise_mean", "noise_std"))
    return {"inputs": inputs, "criterion": criterion, "value": float(value), **empty, **controls}


BINS = 40


def save_fitted(fitted: FittedCriteria, folder: Path) -> None:
    """Write ``relevance.npz`` and ``neurons.json``: important neurons, clusters, histograms.

    Without relevance there is only the second, whose note says why.
    """
    facts = {"layer": fitted.subject, "target_class": fitted.target_class}
    relevance = fitted.relevance
    if relevance is None:
        write_json(folder / "neurons.json", {**facts, "notes": [fitted.left_out], "neurons": []})
        return
    write_arrays(folder / "relevance.npz", per_class=relevance.per_class, inputs=relevance.inputs)
    total = relevance.total(fitted.target_class)
    neurons = []
    *_, idc = fitted.idc.values()  # of the largest number of neurons
    for neuron, histogram, clusters in zip(idc.neurons, idc.histograms, idc.clusters, strict=True):
        counts, edges = np.histogram(histogram.values(), BINS, weights=histogram.counts())
        neurons.append(
            {
                "neuron": int(neuron),
                "relevance": float(total[neuron]),
                "centroids": clusters.centroids.tolist(),
                "silhouette": clusters.silhouette,
                "histogram": counts.astype(np.int64).tolist(),
                "edges": edges.tolist(),
            }
        )
    write_json(folder / "neurons.json", {**facts, "notes": relevance.notes, "neurons": neurons})


def save_combinations(measured: AdequacyMeasurement, base: NDArray[np.int64], folder: Path) -> None:
    """Write ``smallest_subset.npz`` and ``new_combinations.npz`` for each number of neurons.

    Args:
        measured: what test set and augmentations exercise.
        base: positions of the test set among all test inputs; the subset's are given so too.
        folder: the files go into folders in it that are named after the coverages (``idc_8``). Of
            each augmentation they hold the positions in it of a smallest subset, the combinations
            that only it reaches, uint8 ``(n, m)``, and the positions in it of inputs that do,
            ``(n,)``.
    """
    for coverage, exercised in measured.exercised.items():
        subsets = {"positions": base[exercised.subset], **exercised.subsets}
        write_arrays(folder / coverage / "smallest_subset.npz", **subsets)
        new = prefix_facts(
            {name: vars(combinations) for name, combinations in exercised.new.items()}
        )
        write_arrays(folder / coverage / "new_combinations.npz", **new)
