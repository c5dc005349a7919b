"""Put the results of all lanes onto one self-contained page."""

from pathlib import Path

from asterism.core.params import Section
from asterism.report.page import write_page


class Params(Section):
    """The page has no parameters of its own."""


def run(_params: Params) -> None:
    """Write the page."""
    write_page(Path(), Path("report/index.html"))
