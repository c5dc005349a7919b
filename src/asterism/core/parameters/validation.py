"""Checking the names that parameters give, before anything runs.

A label becomes part of commands, paths, git references and pages. So it is one word to a shell, one
file or folder in a path, and plain text to HTML and to a figure's title.

For names of plug-ins, a section says where what it names is registered, as text: plug-ins import
their parameters, so parameters cannot import plug-ins. Composition checks names
(:func:`validate_names`); a stage does not, for it looks up what it needs.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown

#: Most characters, so that a file name that contains a label is not too long.
LONGEST = 64

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def is_label(text: str) -> bool:
    """Whether a text can be such a name."""
    return len(text) <= LONGEST and _LABEL.fullmatch(text) is not None


def require_label(text: str) -> str:
    """The text, if it can be such a name.

    Raises:
        ValueError: it cannot.
    """
    if not is_label(text):
        raise ValueError(
            f"{text[:LONGEST]!a} cannot be a name: use at most {LONGEST} letters from a to z, "
            "digits, '_' and '-', a letter or a digit first"
        )
    return text


#: The type of such a name.
Label = Annotated[str, AfterValidator(require_label)]


T = TypeVar("T")

#: Type of the validation error whose message says all but where.
REJECTED = "rejected"

_checking: ContextVar[bool] = ContextVar("checking", default=False)


@contextmanager
def validate_names() -> Iterator[None]:
    """Validation in the block checks names too."""
    token = _checking.set(True)
    try:
        yield
    finally:
        _checking.reset(token)


def named(registry: str) -> AfterValidator:
    """Marks a text as the name of a plug-in, which is a label, for ``Annotated``.

    Args:
        registry: where it is registered, ``package.module:REGISTRY``.
    """
    return AfterValidator(partial(_require_name, registry))


def accepted_by(judge: str) -> AfterValidator:
    """Marks a value that something has to take, for ``Annotated``.

    Args:
        judge: ``package.module:callable`` that raises a :class:`UserError` where it does not.
    """
    return AfterValidator(partial(require_accepted, judge))


def require_accepted(judge: str, value: T) -> T:
    """The value, after ``judge`` has taken it where names are checked.

    Raises:
        PydanticCustomError: it did not; the message is that of its :class:`UserError`.
    """
    if _checking.get():
        with _rejecting():
            _find(judge)(value)
    return value


@cache
def registered_names(registry: str) -> list[str]:
    """The names in the registry at ``module:VARIABLE``, sorted, read from the plug-ins' source.

    Importing the plug-ins may take as long as importing TensorFlow. They are imported all the
    same where a name is computed, so that the source does not spell it, and where some lie outside
    of the package.
    """
    module, _, variable = registry.partition(":")
    found = _find(registry)
    if found.outside:
        return list(found.names())
    package = importlib.import_module(found.package or module)
    folders = getattr(package, "__path__", ())
    files = [file for folder in folders for file in Path(folder).rglob("*.py")]
    here = importlib.import_module(module).__file__
    names: list[str] = []
    for file in {*files, Path(str(here))}:
        source = file.read_text(encoding="utf-8")
        if f"{variable}.register(" not in source:
            continue
        for argument in _registered(ast.parse(source), variable):
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                return list(found.names())
            names.append(argument.value)
    return sorted(names)


def _registered(tree: ast.Module, variable: str) -> Iterator[ast.expr]:
    """The first argument of every ``VARIABLE.register(…)``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "register"), [argument, *_]):
                if name == variable:
                    yield argument


def _require_name(registry: str, name: str) -> str:
    require_label(name)
    if _checking.get() and name not in registered_names(registry):
        with _rejecting():
            raise unknown(_find(registry).kind, name, registered_names(registry))
    return name


@contextmanager
def _rejecting() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise PydanticCustomError(REJECTED, "{reason}", {"reason": str(error)}) from None


def _find(where: str) -> Any:
    """What ``module:attribute`` names."""
    module, _, attribute = where.partition(":")
    return attrgetter(attribute)(importlib.import_module(module))
