"""Search one pair for inputs on which its models deviate: `python stages trigger dynamic_range`."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.validation import Label
from asterism.core.resuming.work_units import work_units
from asterism.data import DataParams, load
from asterism.dflare.image_pairs import ImagePair, search_images
from asterism.dflare.params import PairParams, TriggerParams
from asterism.models.images_and_scores import PreprocessingParams


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    preprocessing: PreprocessingParams
    pairs: dict[Label, PairParams]
    trigger: TriggerParams


def variants(params: Params) -> list[str]:
    """The pairs of models."""
    return sorted(params.pairs)


def run(params: Params, name: str) -> None:
    """Search, save the triggering inputs."""
    pair = ImagePair(params.pairs[name], params.preprocessing, load(params.data))
    groups = work_units("trigger", params, [Path(params.data.path), *pair.paths], name)
    folder = Path("artifacts/trigger") / name
    summaries = search_images(pair, params.trigger, params.seed, folder, groups)
    write_json(Path(f"metrics/trigger-{name}.json"), summaries)
    groups.finish()
