"""Write the page about a pair of the user's that was vetted: verdict, reasons, certificate."""

from pathlib import Path

from asterism.vetting.params import VetStageParams as Params

FOLDER = Path("report/vet")


def run(params: Params) -> None:
    """Write the page; nothing where no pair is vetted."""
    if params.vet.source == "none":
        FOLDER.mkdir(parents=True)
        return
    from asterism.report.vetted.page import write_vet_page
    from asterism.vetting.opening import GivenPair

    sha256 = GivenPair.by_files(params.vet).hashes(params.vet.label_file)
    write_vet_page(params.vet, params.seed, Path(), FOLDER, sha256)
