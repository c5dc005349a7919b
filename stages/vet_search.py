"""Search a pair of the user's for inputs near the given ones on which the models differ."""

from pathlib import Path

from asterism.core.files.artifacts import write_empty_results, write_json
from asterism.core.resuming.work_units import work_units
from asterism.vetting.params import VetStageParams as Params

METRICS = Path("metrics/vet_search.json")
FOLDER = Path("artifacts/vet_search")


def run(params: Params) -> None:
    """Write what is found; nothing where no pair is vetted."""
    if params.vet.source == "none":
        write_empty_results(METRICS, FOLDER)
        return
    from asterism.vetting.opening import open_for_stage
    from asterism.vetting.searching import search_opened

    inputs = [Path(path) for path in params.vet.files]
    units = work_units("vet_search", params, inputs)
    with open_for_stage(params) as vetted:
        write_json(METRICS, search_opened(vetted, params.seed, FOLDER, units))
    units.finish()
