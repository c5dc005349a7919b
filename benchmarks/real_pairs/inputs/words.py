"""Text that every Python has: the documentation of its standard library."""

from __future__ import annotations

import importlib
import re
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

import yaml

#: Modules whose documentation is read, with the modules within them that are read too.
_MODULES: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


@cache
def sentences() -> tuple[str, ...]:
    """Sentences of 5 to 30 words out of the documentation of modules, classes and functions."""
    found: dict[str, None] = {}
    for name in _MODULES:
        for said in _documentation(name):
            for sentence in re.split(
                r"(?<=[.!?])\s+|\n\s*\n", said if isinstance(said, str) else ""
            ):
                plain = " ".join(sentence.split())
                if plain.isascii() and 5 <= len(plain.split()) <= 30 and ">>>" not in plain:
                    found[plain] = None
    return tuple(found)


def _documentation(name: str) -> list[object]:
    """What a module and all that it holds say of themselves."""
    module = importlib.import_module(name)
    within = _MODULES[name]
    for key in within:
        importlib.import_module(f"{name}.{key}")
    owners = [module]
    for key in sorted(key for key in vars(module) if key[0] != "_"):
        owner = getattr(module, key)
        is_within = isinstance(owner, ModuleType) and owner.__name__.startswith(f"{name}.")
        if key in within or not is_within:
            owners.append(owner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some say it when they are read
        return [getattr(owner, "__doc__", None) for owner in owners]


@cache
def words() -> tuple[str, ...]:
    """Words of 3 to 13 letters or digits out of :func:`sentences`, each once."""
    every = re.findall(r"[A-Za-z0-9]{3,13}", " ".join(sentences()))
    return tuple(dict.fromkeys(every))
