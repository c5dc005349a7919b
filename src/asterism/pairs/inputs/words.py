"""Text that every Python has: the documentation of its standard library."""

from __future__ import annotations

import importlib
import re
import warnings
from functools import cache

#: Modules whose documentation is read.
_MODULES = (
    "argparse", "asyncio", "calendar", "collections", "configparser", "contextlib", "csv",
    "datetime", "decimal", "difflib", "doctest", "email", "fractions", "functools", "gzip",
    "heapq", "http.client", "inspect", "itertools", "json", "logging", "mailbox", "math",
    "os", "pathlib", "pdb", "pickle", "random", "shutil", "socket", "sqlite3", "statistics",
    "string", "subprocess", "tarfile", "textwrap", "threading", "timeit", "tokenize",
    "traceback", "turtle", "typing", "unittest", "urllib.request", "uuid", "zipfile",
)  # fmt: skip


@cache
def sentences() -> tuple[str, ...]:
    """Sentences of 5 to 30 words out of the documentation of modules, classes and functions."""
    found: dict[str, None] = {}
    for module in map(importlib.import_module, _MODULES):
        owners = [module, *(getattr(module, key) for key in sorted(vars(module)) if key[0] != "_")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # some say it when they are read
            texts = [getattr(owner, "__doc__", None) for owner in owners]
        for said in texts:
            for sentence in re.split(
                r"(?<=[.!?])\s+|\n\s*\n", said if isinstance(said, str) else ""
            ):
                plain = " ".join(sentence.split())
                if plain.isascii() and 5 <= len(plain.split()) <= 30 and ">>>" not in plain:
                    found[plain] = None
    return tuple(found)


@cache
def words() -> tuple[str, ...]:
    """Words of 3 to 13 letters or digits out of :func:`sentences`, each once."""
    every = re.findall(r"[A-Za-z0-9]{3,13}", " ".join(sentences()))
    return tuple(dict.fromkeys(every))
