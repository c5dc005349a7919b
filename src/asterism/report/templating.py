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


_ENVIRONMENT.filters["percent"] = percent


def render(template: str, **context: Any) -> Markup:
    """The template ``report/templates/<template>`` filled in; values are escaped."""
    return Markup(_ENVIRONMENT.get_template(template).render(**context))
