"""Templates of the page and of its sections."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_ENVIRONMENT = Environment(
    loader=PackageLoader("asterism.report", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def percent(value: float | None) -> str:
    """0.8857 as ``88.6%``; a dash for what was not measured."""
    return "–" if value is None else f"{100 * value:.1f}%"


def fixed(value: float | None, digits: int) -> str:
    """1.25 with one digit as ``1.2``; a dash for what was not measured."""
    return "–" if value is None else f"{value:.{digits}f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 query`` and ``2 queries``; the plural is the noun with an s where none is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


_ENVIRONMENT.filters |= {"percent": percent, "fixed": fixed, "counted": counted}


def render(template: str, **context: Any) -> Markup:
    """The template ``report/templates/<template>`` filled in; values are escaped."""
    return Markup(_ENVIRONMENT.get_template(template).render(**context))
