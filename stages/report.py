"""Put the results of all lanes onto one self-contained page."""

from pathlib import Path
from typing import Any

from asterism.core.parameters.labels import Label
from asterism.core.parameters.params import ParameterSection
from asterism.report.page import write_page


class Params(ParameterSection):
    """Which results the page shows, as earlier ones may lie beside them, and in which order."""

    pairs: dict[Label, Any]
    compression: dict[Label, Any]
    attack: dict[str, Any]
    criteria: dict[str, Any]


def run(_params: Params) -> None:
    """Write the page."""
    write_page(Path(), Path("report/index.html"))
