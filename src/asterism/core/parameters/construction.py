"""Making a plug-in from its name and options, as configuration gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, rejection_reason, validate
from asterism.core.parameters.registry import Registry, suggest_closest

T = TypeVar("T")


class HasOptions(Protocol):
    """A plug-in whose options are a section of parameters."""

    Options: ClassVar[type[ParameterSection]]


P = TypeVar("P", bound=HasOptions)


class NoOptions(ParameterSection):
    """Nothing to choose."""


def options_of(registry: Registry[type[P]], name: str, options: dict[str, Any]) -> ParameterSection:
    """The options of a registered class that declares a section of them.

    Raises:
        UserError: no such plug-in, or the options are none of its.
    """
    return validate(registry[name].Options, options, source=f"options of {name}")


def options_by_name(
    registry: Registry[type[P]], given: Mapping[str, dict[str, Any]], names: Iterable[str] = ()
) -> dict[str, ParameterSection]:
    """The options of several registered classes, by their names.

    Args:
        registry: where the classes are.
        given: the options of each.
        names: more of them, of which those without options in ``given`` have none to take.

    Raises:
        UserError: no such plug-in, or the options are none of its.
    """
    chosen: dict[str, dict[str, Any]] = {name: {} for name in names} | dict(given)
    return {name: options_of(registry, name, options) for name, options in chosen.items()}


def configure(registry: Registry[type[T]], name: str, options: Mapping[str, Any]) -> T:
    """An instance of a registered dataclass.

    Args:
        registry: where the class is.
        name: the plug-in's name.
        options: values of its fields; those left out keep their defaults.

    Raises:
        UserError: no such plug-in or field, a value of the wrong type, or one that the class
            itself rejects with a ``ValueError``.
    """
    plugin: Any = registry[name]
    known = list(getattr(plugin, "__dataclass_fields__", {}))
    for option in options:
        if option not in known:
            raise UserError(
                f"the {registry.kind} {name} has no option called {option!r}"
                f"{suggest_closest(option, known)} (known: {', '.join(known) or 'none'})"
            )
    try:
        made: T = _adapter(plugin).validate_python(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([name, *map(str, first["loc"])])
        whole = first["type"] in ("value_error", "missing")
        given = "" if whole else f" is {first['input']!r}"
        raise UserError(f"the {registry.kind} {where}{given}: {rejection_reason(first)}") from None
    return made


@cache
def _adapter(plugin: Any) -> TypeAdapter[Any]:
    return TypeAdapter(plugin)


def configure_each(
    registry: Registry[type[T]], chosen: Mapping[str, Mapping[str, Any]]
) -> dict[str, T]:
    """Instances of registered dataclasses, by their names; see :func:`configure`.

    Args:
        registry: where the classes are.
        chosen: for each one's name the fields that differ from their defaults.
    """
    return {name: configure(registry, name, fields) for name, fields in chosen.items()}
