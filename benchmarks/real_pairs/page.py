"""The page of the docs about real pairs, made of the registry and of the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from asterism.reproduction.page import wrapped
from real_pairs.entry import RealPair, packages, packages_of

#: Where the page lies in the project.
PAGE = Path("docs/pairs.md")

#: Where the part of the page begins that is written by this module.
_MARK = "<!-- All below is written by `python benchmarks/real_pairs --write`. -->\n"


def page(text: str, pairs: Mapping[str, RealPair], results: Mapping[str, Any]) -> str:
    """The page's text with current results.

    Args:
        text: the page as it is.
        pairs: all pairs of the registry, by name.
        results: of :func:`~real_pairs.results.read_results`.
    """
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"percent": lambda share, digits=0: f"{share:.{digits}%}"}
    templates.filters |= {"wrapped": wrapped, "packages": packages_of}
    written = templates.get_template("page.md.j2").render(
        pairs=pairs, results=results, packages=packages()
    )
    return text.partition(_MARK)[0] + _MARK + written
