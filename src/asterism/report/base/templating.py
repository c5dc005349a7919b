"""Filling in templates of HTML: those of any package's pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from asterism.core.messages.counting import counted
from asterism.core.messages.escaping import printable_lines
from asterism.report.base.components import Components


def percent(value: float | None) -> str:
    """0.8857 as ``88.6%``; a dash for what was not measured."""
    return "–" if value is None else f"{100 * value:.1f}%"


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
