"""Find the nodes of a compressed model of the user's that are to blame, and repair it."""

from pathlib import Path

from asterism.core.files.artifacts import write_empty_results, write_json
from asterism.vetting.params import VetStageParams as Params

METRICS = Path("metrics/vet_repair.json")
FOLDER = Path("artifacts/vet_repair")
TRIGGERS = Path("artifacts/vet_search/triggers.npz")


def run(params: Params) -> None:
    """Write what is found; nothing where no pair is vetted."""
    if params.vet.source == "none":
        write_empty_results(METRICS, FOLDER)
        return
    from asterism.vetting.opening import open_for_stage
    from asterism.vetting.repairing import repair_opened

    with open_for_stage(params) as vetted:
        write_json(METRICS, repair_opened(vetted, params.seed, TRIGGERS, FOLDER))
