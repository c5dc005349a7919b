"""Repair one pair's compressed model and search it again: `python stages repair dynamic_range`."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.validation import Label
from asterism.data import DataParams, load
from asterism.dflare.image_pairs import ImagePair, repair_images
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.models.images_and_scores import PreprocessingParams


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    preprocessing: PreprocessingParams
    pairs: dict[Label, PairParams]
    trigger: TriggerParams
    repair: RepairParams


def variants(params: Params) -> list[str]:
    """The pairs of models."""
    return sorted(params.pairs)


def run(params: Params, name: str) -> None:
    """Compare repairers, save the best, search again."""
    results = repair_images(
        ImagePair(params.pairs[name], params.preprocessing, load(params.data)),
        params.repair,
        params.trigger,
        params.seed,
        Path("artifacts/trigger") / name,
        Path("artifacts/repair") / name,
    )
    write_json(Path(f"metrics/repair-{name}.json"), results)
