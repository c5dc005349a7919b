"""Train DAVE-2 on the user's driving data and measure how far tests exercise its neurons."""

from pathlib import Path

from asterism.attacks.addition import Split
from asterism.attacks.params import AttackParams
from asterism.core.artifacts import write_json
from asterism.core.params import Section
from asterism.criteria.params import CriteriaParams
from asterism.data.driving import DrivingParams, load_driving
from asterism.deepimportance.fitting import fit
from asterism.deepimportance.measurement import measure
from asterism.deepimportance.params import ImportanceParams
from asterism.deepimportance.regression import regression_additions, train_regressor
from asterism.deepimportance.sets import compare
from asterism.models.params import TrainingParams
from asterism.models.preprocessing import PreprocessingParams

METRICS = Path("metrics/measure_driving.json")


class Params(Section):
    """What the stage reads of ``params.yaml``."""

    seed: int
    driving: DrivingParams
    driving_training: TrainingParams
    preprocessing: PreprocessingParams
    attack: AttackParams
    importance: ImportanceParams
    criteria: CriteriaParams


def run(params: Params) -> None:
    """Write the regressor's errors and every criterion's value; nothing without driving data."""
    if params.driving.source == "none":
        write_json(METRICS, {})
        return
    driving = load_driving(params.driving, params.seed)
    scaling = params.preprocessing
    model, errors = train_regressor(driving, scaling, params.driving_training, params.seed)
    fitted = fit(model, scaling, driving.train_images, None, params.importance, params.criteria)
    tests = driving.test_images
    split = Split.draw(len(tests), params.attack.base_share, params.seed)
    additions = regression_additions(tests, split, params.attack, params.seed)
    draws, std = params.importance.draws, params.attack.noise.std
    compared = {
        name: compare(addition, name, tests, split, draws, std, params.seed)
        for name, addition in additions.items()
    }
    measured = measure(fitted, tests[split.base], compared)
    write_json(METRICS, {**errors, **measured.metrics})
