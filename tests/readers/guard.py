"""What a process does beyond reading: an audit hook that notes all that looks like foreign code.

Python announces what could act on the machine by audit events (``sys.addaudithook``). Between
``start`` and ``stop`` each is compared with what readers and their libraries do for reasons of
their own; anything else is a violation. What native code does is not announced: that no file
outside the example's folder is touched, the parent watches (``readers.surroundings``).
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hostile_text import MARK

#: Never needed to read a file. A name that ends in a dot stands for all events that begin so.
FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "pty.spawn", "subprocess.Popen", "socket.connect", "socket.bind", "socket.getaddrinfo",
    "socket.gethostbyname", "socket.sendto", "urllib.Request", "ftplib.connect", "smtplib.connect",
    "http.client.connect", "pickle.find_class", "shelve.open", "os.kill", "os.chown", "os.setxattr",
    "webbrowser.open", "cpython.run_",
)  # fmt: skip

#: These change the file system: their first arguments must lie in the process's own folders.
CHANGING = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.", "sqlite3.connect",
)  # fmt: skip

#: Who compiles or executes text that no file says, and why that is no foreign code.
MAKERS = {
    "dataclasses.py": "writes __init__ of classes that libraries declare",
    "collections/__init__.py": "named tuples of libraries",
    "enum.py": "enumerations of libraries",
    "typing.py": "forward references in libraries' annotations",
    "inspect.py": "signatures of functions",
    "attr/_make.py": "writes __init__ of classes that libraries declare",
    "pydantic/": "annotations of our own sections",
    "jinja2/": "our own templates",
    "decorator.py": "wrappers of libraries' functions",
    "absl/": "libraries' flags",
    "tensorflow/python/autograph/": "converts functions of Keras and TensorFlow, from their source",
    "gast/": "parses the source of Keras' functions for autograph",
    "astunparse/": "the same",
    "numpy/": "headers of arrays are literals (ast.literal_eval compiles, and executes nothing)",
    "ast.py": "ast.parse and literal_eval compile to a tree, and execute nothing",
    "sympy/": "reads sizes that size_expressions.py has written; none of the file's text",
    "torch/": "writes the forward of graphs that torch_archive.py has rewritten; the same",
    "scipy/": "wrappers of its own functions",
    "h5py/": "wrappers of its own functions",
    "asterism/differential/": "our own text of a backend, to which a file's texts are data",
    "linecache.py": "source of functions, for their text",
    "textwrap.py": "the same",
    "functools.py": "wrappers of libraries' functions",
    "tokenize.py": "source of functions",
}

#: Modules that nothing here needs: attacks name them to see whether a name is imported.
BAIT = ("this", "antigravity", "turtledemo", "idlelib", "stranger", MARK)

_PATHS = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}


class Guard:
    """Notes violations while it is on.

    Args:
        writable: folders that a reader may write to: its own state and temporary files.
    """

    def __init__(self, writable: Iterable[Path]) -> None:
        own = Path(__file__).resolve().parents[2]
        self._writable = tuple(f"{os.path.realpath(path)}/" for path in writable)
        self._installed = tuple(os.path.realpath(path) for path in (*_PATHS, own / "src"))
        self._installed += (str(own / "tests"),)
        self._on = False
        self._known: set[str] = set()
        self.violations: list[str] = []
        sys.addaudithook(self._hook)

    def start(self) -> None:
        self.violations.clear()
        self._known = set(sys.modules)
        self._on = True

    def stop(self) -> list[str]:
        """Look no more; what was noted since ``start``."""
        self._on = False
        for name in sys.modules.keys() - self._known:
            if name.partition(".")[0] in BAIT:
                self._note(f"imported {name}")
            file = getattr(sys.modules[name], "__file__", None)
            named = isinstance(file, str) and file.startswith("/")  # PyTorch makes others up
            if named and not self._is_installed(file):
                self._note(f"imported {name} from {file}")
        return list(self.violations)

    def _note(self, what: str) -> None:
        if what not in self.violations and len(self.violations) < 20:
            self.violations.append(what)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        judge = _JUDGES.get(event)
        if judge is None:
            if event.startswith(FORBIDDEN):
                self._note(f"{event} {_shown(args)}")
            elif event.startswith(CHANGING):
                for path in args[:2]:
                    if isinstance(path, str | bytes | os.PathLike) and not self._is_own(
                        path, follows=False
                    ):
                        self._note(f"{event} {_shown(args)}")
            return
        self._on = False  # what judging does itself is no violation
        try:
            if told := judge(self, args):
                self._note(f"{event}: {told}")
        finally:
            self._on = True

    def opened(self, args: tuple[Any, ...]) -> str:
        path, mode, flags = args
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if isinstance(path, int) or not (isinstance(flags, int) and flags & writes):
            return ""
        follows = not flags & os.O_NOFOLLOW  # a link in the file's place is opened
        return "" if self._is_own(path, follows) else f"writes {path!r} (mode {mode})"

    def loaded(self, args: tuple[Any, ...]) -> str:
        path = args[0]
        if path is None or "/" not in str(path):
            return ""  # the system's own libraries, by their names
        return "" if self._is_installed(str(path)) else f"loads the library {path}"

    def compiled(self, args: tuple[Any, ...]) -> str:
        source, name = args
        # Whoever writes source, never of a file's text; NumPy's headers of arrays are literals.
        if MARK in str(source) and not _is_by(("numpy/",)):
            return f"text of the file {_shown(source)}"
        if source is None or (isinstance(name, str) and self._is_installed(name)):
            return ""
        return self._by_maker(f"text {_shown((source, name))}")

    def executed(self, args: tuple[Any, ...]) -> str:
        name = args[0].co_filename
        if self._is_installed(name) or name.startswith("<frozen "):
            return ""
        return self._by_maker(f"code of {name}")

    def unmarshalled(self, args: tuple[Any, ...]) -> str:
        caller = _callers()[0]
        return "" if caller.startswith("<frozen importlib") else f"marshalled code, by {caller}"

    def by_workers(self, args: tuple[Any, ...]) -> str:
        """Our own ways to read a file, or to run a model, in another process."""
        own = any("asterism/core/workers/" in caller for caller in _callers())
        return "" if own else _shown(args)

    def _by_maker(self, what: str) -> str:
        return "" if _is_by(MAKERS) else f"{what}, by {_callers()[0]}"

    def _is_installed(self, path: str) -> bool:
        return os.path.realpath(path).startswith(self._installed)

    def _is_own(self, path: str | bytes | os.PathLike[str], follows: bool = True) -> bool:
        """Whether a path lies in the process's folders; a link at its end may not be followed."""
        name = os.fsdecode(path)
        folder, file = os.path.split(name)
        real = os.path.realpath(name) if follows else f"{os.path.realpath(folder)}/{file}"
        return f"{real}/".startswith(self._writable) or real in ("/dev/null", "/dev/tty")


_JUDGES: dict[str, Callable[[Guard, tuple[Any, ...]], str]] = {
    "open": Guard.opened,
    "ctypes.dlopen": Guard.loaded,
    "compile": Guard.compiled,
    "exec": Guard.executed,
    "marshal.loads": Guard.unmarshalled,
    "subprocess.Popen": Guard.by_workers,
    "os.killpg": Guard.by_workers,
}


def _callers() -> list[str]:
    """Files of the three innermost frames outside this module."""
    frame = sys._getframe(1)
    found: list[str] = []
    while frame is not None and len(found) < 3:
        name = frame.f_code.co_filename
        if name != __file__:
            found.append(name)
        frame = frame.f_back  # type: ignore[assignment]
    return found or ["<native code>"]


def _is_by(makers: Iterable[str]) -> bool:
    return any(f"/{maker}" in caller for caller in _callers() for maker in makers)


def _shown(args: Any) -> str:
    return repr(args)[:160]
