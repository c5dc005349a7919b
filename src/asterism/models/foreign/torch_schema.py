"""PyTorch's schema of exported programs as an allow-list for documents that others wrote.

The dataclasses of ``torch._export.serde.schema`` say which fields, unions and types there are. What
they do not name is rejected, and so is every text that no rule of ours takes: a document is written
anew from what is left.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from asterism.core.messages.errors import UserError

#: What becomes of a value, by its place: ``Node`` is every value of that class, ``Node.target`` its
#: field, and ``Graph.tensor_values{}`` a key of the mapping there. A rule raises ValueError.
Rules = Mapping[str, Callable[[Any], Any]]

_INTEGERS = range(-(2**63), 2**63)
#: How PyTorch writes numbers that JSON has not.
_NOT_FINITE = ("Infinity", "-Infinity", "NaN")


class Rewriting:
    """Writes documents anew by a schema and rules.

    Args:
        rules: for every text that the document may hold, and for what is replaced as a whole.
        most: items of the lists and mappings at these places.
        source: the file, for messages.
    """

    def __init__(self, rules: Rules, most: Mapping[str, int], source: str) -> None:
        self._rules = rules
        self._most = most
        self._source = source

    def anew(self, kind: type, value: Any) -> Any:
        """A document of a dataclass, written anew.

        Raises:
            UserError: something in it is not of the schema, or no rule takes it.
        """
        return self._value(kind, value, kind.__name__)

    def _value(self, kind: Any, value: Any, place: str) -> Any:
        if place in self._rules:
            return self._ruled(place, value)
        if place in self._most and isinstance(value, (list, dict)):
            self._require_few(place, value)
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            (inner,) = (argument for argument in arguments if argument is not types.NoneType)
            return None if value is None else self._value(inner, value, place)
        if origin is list and isinstance(value, list):
            return [self._value(arguments[0], item, f"{place}[]") for item in value]
        if origin is dict and isinstance(value, dict):
            return {
                self._ruled(f"{place}{{}}", key): self._value(arguments[1], item, f"{place}[]")
                for key, item in value.items()
            }
        if dataclasses.is_dataclass(kind) and isinstance(value, dict):
            name = getattr(kind, "__name__", place)
            return self._ruled(name, value) if name in self._rules else self._fields(kind, value)
        if _is_number(kind, value):
            return value
        raise self._rejected(place, value)

    def _fields(self, kind: Any, value: dict[str, Any]) -> dict[str, Any]:
        """The fields of a dataclass; of a union the one that is set."""
        types_of = _types(kind)
        for name in value:
            if name not in types_of:
                raise self._rejected(f"{kind.__name__}.{name}", value[name])
        given = value.keys()
        missing = [name for name in _required(kind) if name not in given]
        if _is_union(kind):
            missing = [] if len(given) == 1 else [kind.__name__]
        if missing:
            raise UserError(f"{self._source} lacks {kind.__name__}.{missing[0]}: it is damaged")
        return {n: self._value(types_of[n], v, f"{kind.__name__}.{n}") for n, v in value.items()}

    def _ruled(self, place: str, value: Any) -> Any:
        rule = self._rules.get(place)
        if rule is None:
            raise self._rejected(place, value)
        try:
            return rule(value)
        except ValueError as error:
            raise UserError(f"{self._source} holds {_place(place)}: {error}: not opened") from None

    def _require_few(self, place: str, value: list[Any] | dict[str, Any]) -> None:
        if len(value) > (most := self._most[place]):
            raise UserError(f"{self._source} has {place} of more than {most:,} items: not opened")

    def _rejected(self, place: str, value: Any) -> UserError:
        return UserError(
            f"{self._source} holds {_place(place)}={value!r:.80}, which no exported program needs "
            "or which could run foreign code: not opened"
        )


def _place(place: str) -> str:
    return place.rstrip("[]{}")


def _is_number(kind: Any, value: Any) -> bool:
    """Whether a value is a truth value or a number of its type; see :data:`_NOT_FINITE`."""
    if kind is float and isinstance(value, str):
        return value in _NOT_FINITE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return kind is bool and isinstance(value, bool)
    if kind is float and isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, float) or value not in _INTEGERS:
        return False
    if kind in (int, float):
        return True
    return inspect.isclass(kind) and issubclass(kind, IntEnum) and value in list(kind)


@functools.cache
def _types(kind: Any) -> dict[str, Any]:
    from torch._export.serde import schema

    return typing.get_type_hints(kind, globalns=vars(schema))


@functools.cache
def _required(kind: Any) -> list[str]:
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is missing and field.default_factory is missing
    ]


@functools.cache
def _is_union(kind: Any) -> bool:
    from torch._export.serde.union import _Union

    return issubclass(kind, _Union)
