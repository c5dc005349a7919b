"""Writing a page as one HTML file that runs no foreign script and fetches nothing.

Results may be a colleague's or a stranger's.
Templates escape texts. Figures are images, in which browsers run no scripts. A
Content-Security-Policy allows the page's own script and style, by their hashes, and forbids
everything else: https://www.w3.org/TR/CSP3/.

Templates call the pieces of a page with what they hold::

    {% call part("coverage", "Coverage") %} … {% endcall %}
    {% call table("Coverage by set", "metrics/coverage.json: SET.CRITERION") %} … {% endcall %}
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
from asterism.core.messages.escaping import pluralise, printable_lines
from asterism.report.base.section import ReportSection, Step, percent

_PART = Markup('<div class="part" id="{}">\n<h3>{}</h3>\n{}</div>\n')
_DETAIL = Markup('<details class="detail"><summary>{}</summary>\n{}</details>\n')
_BLOCK = Markup('<pre tabindex="0" role="group" aria-label="{}">{}</pre>\n')
_TABLE = Markup(
    '<div class="table"><div class="wide" tabindex="0" role="group" aria-label="{}">'
    "<table{}>\n{}</table></div>{}</div>\n"
)
_SOURCE = Markup(
    '<button type="button" class="from" popovertarget="{0}" aria-label="Source of {1}">source'
    '</button><span class="source" popover id="{0}"><b>{1}</b>{2}</span>'
)


class Components:
    """The pieces of one section.

    Args:
        anchor: the section's name; ids of its pieces begin with it.
    """

    def __init__(self, anchor: str) -> None:
        self._anchor = anchor
        self._sources = 0
        #: Anchor and title of each part so far.
        self.contents: list[tuple[str, str]] = []

    def functions(self) -> dict[str, Callable[..., Markup]]:
        """The pieces by the names that templates call them by."""
        return {
            "part": self.part,
            "table": self.table,
            "detail": self.detail,
            "block": self.block,
            "source": self.source,
            "parameters": self.parameters,
        }

    def part(self, name: str, title: str, caller: Callable[[], Markup]) -> Markup:
        """A heading with what belongs to it; the list of contents gets a link to it."""
        anchor = f"{self._anchor}-{name}"
        self.contents.append((anchor, title))
        return _PART.format(anchor, title, caller())

    def table(self, title: str, source: str, caller: Callable[[], Markup]) -> Markup:
        """A table that scrolls sideways in itself, and says on demand where its numbers are from.

        Args:
            title: what it shows; screen readers say it.
            source: the file and how its keys are made; words in capitals are the table's own.
            caller: gives the rows.
        """
        told = Markup(' data-source="{}"').format(source)
        found = self.source(title, source) if source else Markup("")
        return _TABLE.format(title, told if source else Markup(""), caller(), found)

    def detail(self, title: str, caller: Callable[[], Markup]) -> Markup:
        """Something that is folded up until it is asked for."""
        return _DETAIL.format(title, caller())

    def parameters(self, values: Sequence[tuple[str, str]]) -> Markup:
        """The parameters of the run, folded up.

        Args:
            values: full name and value of each.
        """
        row = Markup("<tr><td><code>{}</code></td><td>{}</td></tr>\n")
        head = Markup("<thead><tr><th>parameter</th><th>value</th></tr></thead>\n<tbody>\n")
        rows = head + Markup("").join(row.format(*value) for value in values) + Markup("</tbody>")
        title = "Parameters of this run"
        return self.detail(title, lambda: self.table(title, "params.yaml", lambda: rows))

    def block(self, title: str, caller: Callable[[], Markup]) -> Markup:
        """Text that keeps its lines, as a script."""
        return _BLOCK.format(title, caller())

    def source(self, title: str, sources: str | Sequence[str]) -> Markup:
        """A button that shows where something was read, each a file and the keys in it."""
        told = (sources,) if isinstance(sources, str) else sources
        if not told:
            return Markup("")
        self._sources += 1
        lines = Markup("").join(Markup("<code>{}</code>").format(line) for line in told)
        return _SOURCE.format(f"{self._anchor}-source-{self._sources}", title, lines)


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
    environment.filters |= {"percent": percent, "fixed": fixed, "counted": pluralise}

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
