"""Searching a pair of image classifiers: from files and a data set to findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.errors import UserError
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.data import Dataset
from asterism.dflare.comparisons.labels import TopLabel
from asterism.dflare.domains import accept_bound
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.pair import ModelPair, open_pair
from asterism.dflare.params import PairParams, TriggerParams
from asterism.dflare.trigger import (
    budget_of,
    draw_seeds,
    save_found,
    search_pair,
    write_confusion,
    write_models,
)
from asterism.models.keras_models.preprocessing import PreprocessingParams


def search_images(
    params: TriggerParams,
    pair: PairParams,
    preprocessing: PreprocessingParams,
    data: Dataset,
    seed: int,
    folder: Path,
    units: WorkUnits = ALONE,
) -> dict[str, Any]:
    """Search a pair of image classifiers from test images.

    Args:
        params: the searches and their budget.
        pair: the model files.
        preprocessing: what both models take.
        data: its test images are the seeds.
        seed: the run's seed.
        folder: replaced by the findings.
        units: who searches each group of seeds.

    Returns:
        A summary for each search.

    Raises:
        UserError: a file cannot be opened, the models are no pair, or take other images, or a
            mutator's range does not fit the images.
    """
    if params.domain.kind != "images":
        raise UserError(
            f"trigger.domain.kind is {params.domain.kind}, but the inputs of this stage are images"
        )
    accept_bound((params.domain, params.bound))
    domain = ImageDomain(params.operators)
    domain.require_shape(data.image_shape)
    seeds = draw_seeds(data.test_images, params.seeds, seed)
    files = Path(pair.original), Path(pair.compressed)
    with open_pair(*files, preprocessing) as models:
        under_test = PairUnderTest(ModelPair(*models), domain, TopLabel(), params.bound)
        with replacing(folder) as temporary:
            budget, minimise = budget_of(params), params.minimise_queries
            found = search_pair(params.searches, under_test, seeds, budget, seed, units, minimise)
            summaries = save_found(found, seeds, domain, temporary)
            for name, findings in found.items():
                write_confusion(temporary / name / "confusion.csv", findings)
            write_models(temporary / "models.json", zip(files, models, strict=True))
            write_json(temporary / "summary.json", summaries)
    return summaries
