"""Put the results of all lanes onto one self-contained page."""

from pathlib import Path
from typing import Any

from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.validation import Label
from asterism.report.lanes import write_page


class Params(ParameterSection):
    """What the page lists, and which results it shows, as earlier ones may lie beside them."""

    seed: Seed
    pairs: dict[Label, Any]
    compression: dict[Label, Any]
    attack: dict[str, Any]
    criteria: dict[str, Any]
    data: dict[str, Any]
    rnn: dict[str, Any]
    abstraction: dict[str, Any]
    coverage: dict[str, Any]
    seeds: dict[str, Any]
    fuzz: dict[str, Any]
    classifier: dict[str, Any]
    trigger: dict[str, Any]
    repair: dict[str, Any]
    importance: dict[str, Any]
    driving: dict[str, Any]
    reduce: dict[str, Any]
    generate: dict[str, Any]
    execute: dict[str, Any]
    judge: dict[str, Any]
    triage: dict[str, Any]


def run(_params: Params) -> None:
    """Write the page."""
    write_page(Path(), Path("report/index.html"))
