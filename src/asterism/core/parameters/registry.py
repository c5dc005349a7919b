"""Registries: one mechanism for everything that is chosen by name."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from asterism.core.messages.errors import UserError

T = TypeVar("T")


def suggest_closest(name: str, known: list[str]) -> str:
    """``"; did you mean X?"`` where a known name is close to the given one, else nothing."""
    matches = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def unknown(kind: str, name: str, known: list[str]) -> UserError:
    """The error that says that nothing of a kind is called ``name``, and what there is."""
    return UserError(
        f"no {kind} is called {name!r}{suggest_closest(name, known)} (known: {', '.join(known)})"
    )


class Registry(Generic[T]):
    """Names to plug-ins of one kind.

    A plug-in registers itself where it is defined. The registry imports the modules of
    ``package`` on first use, so that a new plug-in is one new file and nothing else. The package's
    own ``__init__`` holds the registry and says what such a plug-in is.

    Args:
        kind: what the plug-ins are, as an error message calls them (``"mutator"``).
        package: dotted name of the package whose modules hold the plug-ins; None where all stand
            in the registry's own module.
        variable: environment variable that names, with commas between, modules of the user's own
            that hold some too; None where all lie in the package.
    """

    def __init__(self, kind: str, package: str | None = None, variable: str | None = None) -> None:
        self.kind = kind
        self.package = package
        self._variable = variable
        self._discovered = False
        self._items: dict[str, T] = {}

    def register(self, *names: str) -> Callable[[T], T]:
        """Decorator that files a class or function under a name, or under several."""

        def file(item: T) -> T:
            for name in names:
                if name in self._items:
                    raise ValueError(f"two {self.kind}s are called {name!r}")
                self._items[name] = item
            return item

        return file

    def __getitem__(self, name: str) -> T:
        """The plug-in called ``name``.

        Raises:
            UserError: no plug-in has that name; the message lists those that there are.
        """
        self._discover()
        try:
            return self._items[name]
        except KeyError:
            raise unknown(self.kind, name, self.names()) from None

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def names(self) -> list[str]:
        """All names, sorted."""
        self._discover()
        return sorted(self._items)

    @property
    def outside(self) -> list[str]:
        """Modules that hold plug-ins and do not lie in the package."""
        named = os.environ.get(self._variable, "") if self._variable is not None else ""
        return list(filter(None, named.split(",")))

    def _discover(self) -> None:
        if self._discovered or self.package is None:
            return
        self._discovered = True  # for plug-ins that look one up while they are imported
        try:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            for name in self.outside:
                self._import_outside(name)
        except BaseException:
            self._discovered = False  # the next look-up says again why, not that a name is unknown
            raise

    def _import_outside(self, name: str) -> None:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module is there, and something that it needs is not
            raise UserError(
                f"{self._variable} names {name}, which is no module that Python finds "
                "(PYTHONPATH says where it looks)"
            ) from None
