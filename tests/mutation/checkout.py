"""A copy of the checkout, in which faults are put: the checkout itself is only ever read."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from mutation.faults import Fault, functions_of

#: The module that notes which functions run, in a copy that is made for that.
NOTING = "asterism_noting"

_NOTING_SOURCE = '''"""Notes the functions that run, here and in processes that are started here."""

import os

_path = os.environ.get("ASTERISM_NOTES")
_known = set()


def note(name):
    if _path and name not in _known:
        _known.add(name)
        with open(_path, "a") as file:
            file.write(name + "\\n")


def note_in(path):
    """Begin another list."""
    global _path
    _path = path
    _known.clear()
    if path:
        os.environ["ASTERISM_NOTES"] = path
    else:
        os.environ.pop("ASTERISM_NOTES", None)
'''

#: A file may be run by itself, without the folder of the source on the path.
_IMPORT = f"""
try:
    import {NOTING}
except ImportError:
    class {NOTING}:
        note = staticmethod(lambda name: None)
"""


class Copy:
    """The files of a checkout that git knows or would add, in another folder.

    Args:
        root: the checkout.
        folder: where the copy goes; what is there is replaced.

    Attributes:
        noted: names of the functions that note that they run, see :meth:`note_functions`.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.noted: set[str] = set()
        # Python believes a compiled file by the second of its source's change: each is another.
        self._seconds = count(1_000_000_000)
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)
        for name in filter(None, listed.splitlines()):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        # Tests that copy the project in turn ask git for its files.
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
        subprocess.run(["git", "add", "--all"], cwd=folder, check=True)

    def write(self, path: Path, text: str) -> None:
        """Put another text into a file of the copy."""
        path.write_text(text)
        second = next(self._seconds)
        os.utime(path, (second, second))

    @contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """The copy with a fault, as long as this lasts."""
        path = self.folder / "src" / fault.file
        source = path.read_text()
        self.write(path, fault.put_into(source))
        try:
            yield
        finally:
            self.write(path, source)

    def note_functions(self) -> None:
        """Let every function of the copy note that it runs."""
        source = self.folder / "src"
        for path in sorted(source.rglob("*.py")):
            file, text = path.relative_to(source).as_posix(), path.read_text()
            self.noted |= {f"{file}:{name}" for name, _ in functions_of(ast.parse(text))}
            self.write(path, noting(text, file))
        (source / f"{NOTING}.py").write_text(_NOTING_SOURCE)


def noting(source: str, file: str) -> str:
    """A module's source in which every function first notes its name."""
    tree = ast.parse(source)
    functions = dict(functions_of(tree))
    for name, function in functions.items():
        documented = ast.get_docstring(function) is not None
        note = ast.parse(f"{NOTING}.note({f'{file}:{name}'!r})").body
        function.body[int(documented) : int(documented)] = note
    if functions:
        at = int(ast.get_docstring(tree) is not None)
        while at < len(tree.body) and ast.unparse(tree.body[at]).startswith("from __future__"):
            at += 1
        tree.body[at:at] = ast.parse(_IMPORT).body
    return ast.unparse(ast.fix_missing_locations(tree))
