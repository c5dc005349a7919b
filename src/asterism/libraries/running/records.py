"""Reading dataclasses from JSON that others may have written; the types of fields are checked."""

from __future__ import annotations

import dataclasses
import reprlib
from math import isfinite
from typing import Any, TypeVar, get_type_hints

from asterism.core.messages.errors import UserError

T = TypeVar("T")

#: Characters of a text. Messages are far shorter; searching them takes time by the square of this.
LONGEST_TEXT = 2000


def record_from(kind: type[T], value: Any) -> T:
    """A dataclass from a mapping of its fields: numbers, texts and tuples of texts.

    Args:
        kind: the dataclass.
        value: a mapping with its fields, tuples as lists; those with a default may be missing.

    Raises:
        UserError: a field is missing, unknown or of another type, or a text is too long.
    """
    if not isinstance(value, dict):
        raise UserError(f"{reprlib.repr(value)} is no mapping of names to values")
    types = get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in value.keys() - fields.keys():
        raise UserError(f"{reprlib.repr(name)} is no known field")
    taken: dict[str, Any] = {}
    for name, field in fields.items():
        if name in value:
            taken[name] = _typed(types[name], name, value[name])
        elif field.default is dataclasses.MISSING:
            raise UserError(f"{name!r} is missing")
    return kind(**taken)


def _typed(kind: Any, name: str, value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is int:
        fits = whole
    elif kind is float:
        fits = whole or (isinstance(value, float) and isfinite(value))
    elif kind is str:
        fits = _is_text(value)
    else:
        fits = isinstance(value, list | tuple) and all(map(_is_text, value))
        value = tuple(value) if fits else value
    if not fits:
        raise UserError(f"{name} is {reprlib.repr(value)}, which is of a wrong type or too long")
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT
