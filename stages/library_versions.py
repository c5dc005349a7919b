"""Write the versions of the libraries under test, on which the later stages depend."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection
from asterism.differential.adapters.environments import installed_versions


class Params(ParameterSection):
    """Versions have no parameters."""


def run(_params: Params) -> None:
    """Write ``env.json``."""
    write_json(Path("artifacts/library_versions/env.json"), installed_versions())
