"""Search one pair for inputs on which its models deviate: `python stages trigger dynamic_range`."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.labels import Label
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.work_units import work_units
from asterism.data import DataParams, load
from asterism.dflare.image_pairs import search_images
from asterism.dflare.params import PairParams, TriggerParams
from asterism.models.keras_models.preprocessing import PreprocessingParams


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
    pair = params.pairs[name]
    data = load(params.data)
    inputs = [Path(params.data.path), Path(pair.original), Path(pair.compressed)]
    groups = work_units("trigger", params, inputs, name)
    summaries = search_images(
        params.trigger,
        pair,
        params.preprocessing,
        data,
        params.seed,
        Path("artifacts/trigger") / name,
        groups,
    )
    write_json(Path(f"metrics/trigger-{name}.json"), summaries)
    groups.finish()
