"""Writing a page as one HTML file that runs no foreign script and fetches nothing.

Results may be a colleague's or a stranger's. Templates escape texts. Figures are images, in which
browsers run no scripts. A Content-Security-Policy allows the page's own script and style, by their
hashes, and forbids everything else: https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from asterism.core.files.artifacts import replacing
from asterism.core.messages.escaping import counted, printable_lines
from asterism.report.base.components import Components
from asterism.report.base.section import ReportSection, Step, percent


def fixed(value: float | None, digits: int) -> str:
    """1.25 with one digit as ``1.2``; a dash for what was not measured."""
    return "–" if value is None else f"{value:.{digits}f}"


def renderer(package: str) -> Callable[..., Markup]:
    """The function that fills in templates of a package; values are escaped.

    Args:
        package: dotted name of the package; the templates are in its folder ``templates``.

    Returns:
        ``render(template, **context)``: the text of the file ``template``, filled in, without
        characters that are not seen.
    """
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "fixed": fixed, "counted": counted}

    def render(template: str, **context: Any) -> Markup:
        return Markup(printable_lines(environment.get_template(template).render(**context)))

    return render


def render_body(
    render: Callable[..., Markup], template: str, anchor: str, **context: Any
) -> tuple[Markup, tuple[tuple[str, str], ...]]:
    """A section's body from a template that may use ``part``, ``table``, ``detail`` and ``block``.

    Args:
        render: the package's function to fill in templates.
        template: its file.
        anchor: the section's; those of its parts begin with it.
        context: values for the template.

    Returns:
        The body, and its list of contents: the anchor and title of each part.
    """
    components = Components(anchor)
    body = render(template, **components.functions(), **context)
    return body, tuple(components.contents)


def ranged(texts: Sequence[str]) -> str:
    """``1 to 3`` of texts in ascending order; one where the first and the last read the same."""
    first, last = texts[0], texts[-1]
    return first if first == last else f"{first} to {last}"


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
