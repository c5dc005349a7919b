"""Measure how often a compressed model of the user's differs, also under natural changes."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.vetting.params import VetParams

METRICS = Path("metrics/vet_measure.json")
FOLDER = Path("artifacts/vet_measure")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    vet: VetParams


def run(params: Params) -> None:
    """Write agreement, flips and both models' answers; or nothing."""
    if params.vet.source == "none":
        FOLDER.mkdir(parents=True)
        write_json(METRICS, {})
        return
    from asterism.vetting.measurement import measure_opened
    from asterism.vetting.opening import GivenPair, open_vetted

    given = GivenPair.by_files(params.vet, keeps_answers=params.vet.goes_on)
    with open_vetted(params.vet, params.seed, given) as vetted:
        write_json(METRICS, measure_opened(vetted, params.seed, FOLDER))
