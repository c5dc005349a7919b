"""Find the nodes of a compressed model of the user's that are to blame, and repair it."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.vetting.params import VetParams

METRICS = Path("metrics/vet_repair.json")
FOLDER = Path("artifacts/vet_repair")
TRIGGERS = Path("artifacts/vet_search/triggers.npz")


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
    from asterism.vetting.repairing import repair_opened

    given = GivenPair.by_files(params.vet, keeps_answers=params.vet.goes_on)
    with open_vetted(params.vet, params.seed, given) as vetted:
        write_json(METRICS, repair_opened(vetted, params.seed, TRIGGERS, FOLDER))
