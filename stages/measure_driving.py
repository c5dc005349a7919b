"""Train DAVE-2 on the user's driving data and measure how far tests exercise its neurons."""

from pathlib import Path

from asterism.attacks.methods import AttackParams
from asterism.core.files.artifacts import write_arrays, write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.criteria.families import CriteriaParams
from asterism.data.driving import DrivingParams, load_driving
from asterism.deepimportance.params import ImportanceParams
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.params import TrainingParams

METRICS = Path("metrics/measure_driving.json")
#: Success, distances and movement of every attacked input.
INPUTS = Path("artifacts/measure_driving/inputs.npz")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    driving: DrivingParams
    driving_training: TrainingParams
    preprocessing: PreprocessingParams
    attack: AttackParams
    importance: ImportanceParams
    criteria: CriteriaParams


def run(params: Params) -> None:
    """Write the regressor's errors, its attacks and every criterion's value; or nothing."""
    if params.driving.source == "none":
        write_json(METRICS, {})
        write_arrays(INPUTS)
        return
    # Imported here because it takes seconds, which most runs need not spend.
    from asterism.attacks.deviations import AttackPlan
    from asterism.deepimportance.regression import measure_regressor, train_regressor

    driving = load_driving(params.driving, params.seed)
    plan = AttackPlan.make(driving.test_images, params.attack, params.seed)
    regressor, errors = train_regressor(
        driving, params.preprocessing, params.driving_training, params.driving, params.seed
    )
    measured, found = measure_regressor(
        regressor, plan, params.attack, params.importance, params.criteria, params.seed
    )
    write_json(METRICS, errors | measured)
    write_arrays(INPUTS, **found.per_input())
