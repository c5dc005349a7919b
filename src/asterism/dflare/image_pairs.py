"""Pairs of image classifiers: searching one, and repairing its compressed model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.data import Dataset
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.deploy import RepairedModel, write_fused
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.outcome import SearchResult
from asterism.dflare.pair import ModelPair, PairedOutputs, open_classifiers
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.dflare.repair import (
    REPAIRED,
    answered_examples,
    choose_repairer,
    compare_repairers,
    gather_examples,
    repair_status,
    save_repairer,
    train_repairer,
    why_not_repairable,
)
from asterism.dflare.repairers import Repairer
from asterism.dflare.trigger import (
    SearchSeeds,
    build_seed_budget,
    draw_seeds,
    load_seeds,
    save_search_results,
    search_pair,
    summarise,
    write_confusion,
    write_model_sizes,
)
from asterism.models.classifier import IsolatedClassifier
from asterism.models.images_and_scores import PreprocessingParams

log = get_logger(__name__)


@dataclass(frozen=True)
class ImagePair:
    """A pair of image classifiers and the images that it is tested on.

    Attributes:
        files: the models' files.
        preprocessing: what both models take.
        data: its test images are the seeds; those that are none show what a repair does to
            ordinary inputs.
    """

    files: PairParams
    preprocessing: PreprocessingParams
    data: Dataset

    @property
    def paths(self) -> tuple[Path, Path]:
        """The files of the original and of the compressed model."""
        return Path(self.files.original), Path(self.files.compressed)


def search_images(
    pair: ImagePair, params: TriggerParams, seed: int, folder: Path, units: WorkUnits = ALONE
) -> dict[str, Any]:
    """Search a pair of image classifiers from test images.

    Args:
        pair: the models and their images.
        params: the searches and their budget.
        seed: the run's seed.
        folder: replaced by the findings.
        units: who searches each group of seeds.

    Returns:
        A summary for each search.

    Raises:
        UserError: a file cannot be opened, the models are no pair, or take other images, or a
            mutator's range does not fit the images.
    """
    domain = ImageDomain(params.operators, NoOptions())
    domain.require_shape(pair.data.image_shape)
    seeds = draw_seeds(pair.data.test_images, params.seeds, seed)
    with open_classifiers(*pair.paths, pair.preprocessing) as models:
        under_test = PairUnderTest(
            ModelPair(*models), domain, TopLabelComparison(NoOptions(), ()), params.bound
        )
        with replacing(folder) as temporary:
            budget, minimise = build_seed_budget(params), params.minimise_queries
            found = search_pair(params.searches, under_test, seeds, budget, seed, units, minimise)
            summaries = save_search_results(found, seeds, domain, temporary)
            for name, findings in found.items():
                write_confusion(temporary / name / "confusion.csv", findings)
            write_model_sizes(temporary / "models.json", zip(pair.paths, models, strict=True))
            write_json(temporary / "summary.json", summaries)
    return summaries


def repair_images(
    pair: ImagePair,
    params: RepairParams,
    trigger: TriggerParams,
    seed: int,
    found: Path,
    folder: Path,
) -> dict[str, Any]:
    """Repair the compressed model of a pair of image classifiers, and search it again.

    Args:
        pair: the models and their images.
        params: repairers and protocol.
        trigger: how the triggering inputs were searched, and are searched again.
        seed: the run's seed.
        found: what :func:`search_images` wrote.
        folder: replaced by the repaired model: ``head.onnx``, and for an ONNX file, where
            the two fit together, also ``repaired.onnx``, compressed model and head in one.

    Returns:
        ``status``; how both models do on the test images (``test_set``); for each repairer its
        counts and ratios; ``chosen``, the best by cross-validation; the search of the original
        against the compressed and the repaired model; and ``not_fused``, why there is no
        ``repaired.onnx`` where there should be one.

    Raises:
        UserError: ``params.search`` is not among the searches that were run.
    """
    if params.search not in trigger.searches:
        raise UserError(
            f"repair.search is {params.search!r}, but trigger.searches runs "
            f"{', '.join(trigger.searches)}"
        )
    seeds, findings = load_seeds(found), SearchResult.load(found / params.search)
    with open_classifiers(*pair.paths, pair.preprocessing) as (f, g):
        models = ModelPair(f, g)
        of_seeds = models.ask(seeds.items)
        of_rest = models.ask(np.delete(pair.data.test_images, seeds.numbers, axis=0))
        facts: dict[str, Any] = {}
        facts["test_set"] = _on_test_images(of_seeds, of_rest, seeds, pair.data.test_labels)
        examples = gather_examples(of_seeds, seeds.numbers.tolist(), findings)
        obstacle = why_not_repairable(examples)
        if obstacle:
            log.warning(obstacle)
            facts["status"] = obstacle
            with replacing(folder) as temporary:
                write_json(temporary / "summary.json", facts)
            return facts
        test = answered_examples(of_rest)
        # The inputs are few: more threads would only wait for each other.
        with threadpool_limits(1):
            results = compare_repairers(params, examples, test, seed)
            chosen = choose_repairer(results)
            repairer = train_repairer(params, chosen, examples, seed)
        status = repair_status(results[chosen])
        if status != REPAIRED:
            log.warning(status, repairer=chosen)
        with replacing(folder) as temporary:
            save_repairer(repairer, chosen, temporary, g.logits)
            repaired = RepairedModel(g, repairer)
            summary = (
                facts
                | {
                    "status": status,
                    "repairers": results,
                    "chosen": chosen,
                    "search_before": summarise(findings),
                    "search_after": _search_again(
                        params, trigger, f, repaired, seeds, seed, temporary
                    ),
                }
                | _write_one_file(pair.paths[1], repairer, g.logits, temporary)
            )
            write_json(temporary / "summary.json", summary)
        return summary


def _on_test_images(
    of_seeds: PairedOutputs, of_rest: PairedOutputs, seeds: SearchSeeds, labels: NDArray[np.int64]
) -> dict[str, Any]:
    """Accuracy and agreement on the test images that both models have an answer for."""
    told = [
        (answers.f[row].argmax(), answers.g[row].argmax(), truth[row])
        for answers, truth in (
            (of_seeds, labels[seeds.numbers]),
            (of_rest, np.delete(labels, seeds.numbers)),
        )
        for row in range(len(truth))
        if row not in answers.failures
    ]
    original, compressed, truth = np.array(told, np.int64).reshape(-1, 3).T

    def share(same: NDArray[np.bool_]) -> float | None:
        return float(same.mean()) if len(same) else None

    return {
        "original_accuracy": share(original == truth),
        "accuracy": share(compressed == truth),
        "agreement": share(compressed == original),
        "deviating_test_images": int((compressed != original).sum()),
    }


def _write_one_file(
    compressed: Path, repairer: Repairer, logits: bool, folder: Path
) -> dict[str, str]:
    """Write ``repaired.onnx`` for an ONNX model; where that fails, ``not_fused`` says why."""
    if compressed.suffix != ".onnx":
        return {}
    reason = write_fused(compressed, repairer, folder / "repaired.onnx", logits)
    if not reason:
        return {}
    log.warning("no repaired.onnx", reason=reason)
    return {"not_fused": reason}


def _search_again(
    params: RepairParams,
    trigger: TriggerParams,
    original: IsolatedClassifier,
    repaired: RepairedModel,
    seeds: SearchSeeds,
    seed: int,
    folder: Path,
) -> dict[str, Any]:
    """Dflare on the original and the repaired model, from the same seeds (the paper's table 8)."""
    models, domain = ModelPair(original, repaired), ImageDomain(trigger.operators, NoOptions())
    under_test = PairUnderTest(models, domain, TopLabelComparison(NoOptions(), ()), trigger.bound)
    only = {params.search: trigger.searches[params.search]}
    found = search_pair(only, under_test, seeds, build_seed_budget(trigger), seed)
    summaries = save_search_results(found, seeds, under_test.domain, folder / "search")
    return dict(summaries[params.search])
