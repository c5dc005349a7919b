"""Measure how often a compressed model of the user's differs, also under natural changes."""

from pathlib import Path

from asterism.core.files.artifacts import write_empty_results, write_json
from asterism.vetting.params import VetStageParams as Params

METRICS = Path("metrics/vet_measure.json")
FOLDER = Path("artifacts/vet_measure")


def run(params: Params) -> None:
    """Write agreement, flips and both models' answers; or nothing."""
    if params.vet.source == "none":
        write_empty_results(METRICS, FOLDER)
        return
    from asterism.vetting.measurement import measure_opened
    from asterism.vetting.opening import open_for_stage

    with open_for_stage(params) as vetted:
        write_json(METRICS, measure_opened(vetted, params.seed, FOLDER))
