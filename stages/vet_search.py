"""Search a pair of the user's for inputs near the given ones on which the models differ."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.work_units import work_units
from asterism.vetting.params import VetParams

METRICS = Path("metrics/vet_search.json")
FOLDER = Path("artifacts/vet_search")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    vet: VetParams


def run(params: Params) -> None:
    """Write what is found; nothing where no pair is vetted."""
    if params.vet.source == "none":
        FOLDER.mkdir(parents=True)
        write_json(METRICS, {})
        return
    from asterism.vetting.opening import GivenPair, open_vetted
    from asterism.vetting.searching import search_opened

    inputs = [Path(path) for path in params.vet.files]
    units = work_units("vet_search", params, inputs)
    given = GivenPair.by_files(params.vet, keeps_answers=params.vet.goes_on)
    with open_vetted(params.vet, params.seed, given) as vetted:
        write_json(METRICS, search_opened(vetted, params.seed, FOLDER, units))
    units.finish()
