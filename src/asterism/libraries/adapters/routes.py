"""Routes: the ways to run a model, each named ``library:option``."""

from __future__ import annotations

from collections.abc import Iterable

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import closest
from asterism.libraries.adapters.library import CONVERTERS, LIBRARIES

#: Runs in float64 that the oracle compares with; not libraries under test.
REFERENCES = ("tensorflow:float64", "pytorch:float64")
PERTURBED = "pytorch:perturbed"
#: All that runs in float64.
FLOAT64 = (*REFERENCES, PERTURBED)


def library_of(route: str) -> str:
    """The library of a route."""
    return route.partition(":")[0]


def option_of(route: str) -> str:
    """Which of its library's ways to run a model a route is."""
    return route.partition(":")[2]


def converter_of(route: str) -> str | None:
    """The converter whose file a route reads, or None."""
    return LIBRARIES[library_of(route)]().source(option_of(route))


def under_test(routes: Iterable[str]) -> list[str]:
    """Routes under test: no references."""
    return [r for r in routes if r not in FLOAT64]


def is_route(name: str) -> bool:
    """Whether there is a route, a reference or a converter of that name."""
    library, option = library_of(name), option_of(name)
    return name in CONVERTERS or (
        library in LIBRARIES and option in LIBRARIES[library].all_options()
    )


def check_routes(routes: Iterable[str]) -> None:
    """Refuse a route that does not exist, or that is a reference and so not under test.

    Raises:
        UserError: its library or option is not known.
    """
    for route in routes:
        library, option = library_of(route), option_of(route)
        known = [o for o in LIBRARIES[library].all_options() if f"{library}:{o}" not in FLOAT64]
        if option not in known:
            hint = closest(option, known)
            raise UserError(f"{library} has no route {option!r}{hint} (known: {', '.join(known)})")
