"""Text that every Python has: the documentation of its standard library."""

from __future__ import annotations

import importlib
import re
import warnings
from functools import cache
from types import ModuleType

#: Modules whose documentation is read.
_MODULES = (
    "argparse", "asyncio", "calendar", "collections", "configparser", "contextlib", "csv",
    "datetime", "decimal", "difflib", "doctest", "email", "fractions", "functools", "gzip",
    "heapq", "http.client", "inspect", "itertools", "json", "logging", "mailbox", "math",
    "os", "pathlib", "pdb", "pickle", "random", "shutil", "socket", "sqlite3", "statistics",
    "string", "subprocess", "tarfile", "textwrap", "threading", "timeit", "tokenize",
    "traceback", "turtle", "typing", "unittest", "urllib.request", "uuid", "zipfile",
)  # fmt: skip
#: Modules within them that are read too. Which others are there depends on what else a process
#: has imported.
_WITHIN = {
    "asyncio": "base_events base_futures base_subprocess base_tasks constants coroutines events "
    "exceptions format_helpers futures locks log mixins protocols queues runners selector_events "
    "sslproto staggered streams subprocess taskgroups tasks threads timeouts transports trsock "
    "unix_events",
    "collections": "abc",
    "email": "base64mime charset encoders errors feedparser header iterators message parser "
    "quoprimime utils",
    "json": "decoder encoder scanner",
    "sqlite3": "dbapi2",
    "unittest": "case loader result runner signals suite util",
}


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
    within = _WITHIN.get(name, "").split()
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
