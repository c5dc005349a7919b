"""Writing a page as one HTML file that runs no script and fetches nothing, whatever results hold.

Results may be a colleague's or a stranger's. Templates escape texts. Figures are images, in which
browsers run no scripts. The page forbids everything else by a Content-Security-Policy: https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from asterism.core.files.artifacts import replacing
from asterism.report.section import ReportSection
from asterism.report.templating import render


def write_document(target: Path, sections: Sequence[ReportSection], sweeps: str) -> None:
    """Write sections below each other as a page.

    Args:
        target: the page.
        sections: in their order.
        sweeps: link to the page of all sweeps; empty for none.
    """
    style = files("asterism.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    page = render(
        "page.html.j2",
        sections=sections,
        sweeps=sweeps,
        style=Markup(style),
        policy=_policy(style),
    )
    with replacing(target) as temporary:
        # Texts of results may hold lone surrogates, which UTF-8 cannot encode.
        temporary.write_bytes(page.encode("utf-8", errors="replace"))


def _policy(style: str) -> str:
    """What a browser may load and run: pictures inside the page, this style, and no script."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = {
        "default-src": "'none'",
        "script-src": "'none'",
        "connect-src": "'none'",
        "img-src": "data:",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{directive} {sources}" for directive, sources in allowed.items())
