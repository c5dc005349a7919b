"""Writing a page as one HTML file that runs no foreign script and fetches nothing.

Results may be a colleague's or a stranger's. Templates escape texts. Figures are images, in which
browsers run no scripts. A Content-Security-Policy allows the page's own script and style, by their
hashes, and forbids everything else: https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from asterism.core.files.artifacts import replacing
from asterism.report.base.components import Components
from asterism.report.base.section import ReportSection, Step
from asterism.report.base.templating import renderer

_render = renderer("asterism.report.base")


def write_document(
    target: Path,
    sections: Sequence[ReportSection],
    sweeps: str,
    title: str = "Asterism report",
    note: Step | None = None,
) -> None:
    """Write sections below each other as a page, after the answers that they give.

    Args:
        target: the page.
        sections: in their order.
        sweeps: link to the page of all sweeps; empty for none.
        title: of the page.
        note: what holds for all answers, above them.
    """
    style, script = _own("page.css"), _own("page.js")
    page = _render(
        "page.html.j2",
        title=title,
        note=note,
        sections=sections,
        answers=[(section, answer) for section in sections for answer in section.answers],
        sweeps=sweeps,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        **Components("page").functions(),
    )
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _own(name: str) -> str:
    return files("asterism.report.base").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What a browser may load and run: pictures inside the page, this style and this script."""
    allowed = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "connect-src": "'none'",
        "img-src": "data:",
        "style-src": _hash(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{directive} {sources}" for directive, sources in allowed.items())


def _hash(text: str) -> str:
    """What allows exactly this text inside the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
