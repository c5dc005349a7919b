"""Find the neurons that matter, and measure how far test set and augmentations exercise them."""

from pathlib import Path

from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.core.files.artifacts import read_json, write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.criteria.families import CriteriaParams
from asterism.data import DataParams, load
from asterism.deepimportance.fitting import fit_criteria
from asterism.deepimportance.heatmaps import heatmaps_or_none
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.measurement import measure_augmented, save_combinations, save_fitted
from asterism.deepimportance.params import ImportanceParams
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.keras_models.reading import load_keras
from asterism.models.training.fitting import make_deterministic

ADDITIONS = Path("artifacts/attack")
ARTIFACTS = Path("artifacts/measure_importance")
PLOTS = Path("plots/measure_importance")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    preprocessing: PreprocessingParams
    importance: ImportanceParams
    criteria: CriteriaParams


def run(params: Params) -> None:
    """Write relevance, clusters, every criterion's value and what the report shows."""
    make_deterministic(params.seed, "measure_importance")
    path = Path("artifacts/train_classifier/model.keras")
    model = JudgedKeras(load_keras(path), params.preprocessing)
    data = load(params.data)
    fitted = fit_criteria(
        model,
        data.train_images,
        data.train_labels,
        params.importance,
        params.criteria,
    )
    split = InputSplit.load(ADDITIONS / "split.npz", len(data.test_images))
    added = {
        name: AugmentationSet.load(ADDITIONS / f"{name}.npz")
        for name in read_json(ADDITIONS / "names.json")
    }
    measured = measure_augmented(
        fitted, data.test_images, split, added, params.importance, params.seed
    )
    save_fitted(fitted, ARTIFACTS)
    save_combinations(measured, split.base, ARTIFACTS)
    shown = heatmaps_or_none(model, params.importance.relevance, data.test_images, data.test_labels)
    if shown is not None:
        shown.save(ARTIFACTS)
    write_json(Path("metrics/measure_importance.json"), measured.metrics)
    write_table(PLOTS / "coverage.csv", measured.rows)
