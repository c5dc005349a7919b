"""What a process does beyond reading: an audit hook that notes all that looks like foreign code.

Python announces what could act on the machine by audit events (``sys.addaudithook``). Between
``start`` and ``stop`` each is compared with what readers and their libraries do for reasons of
their own; anything else is a violation. What native code does is not announced: that no file
outside the example's folder is touched, the parent watches (``readers.watch.Bait``).
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hostile_text import MARK
from places import ROOT

#: Never needed to read a file, except by our own workers, which read one in another process.
FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "pty.spawn", "subprocess.Popen", "socket.connect", "socket.bind", "socket.getaddrinfo",
    "socket.gethostbyname", "socket.sendto", "urllib.Request", "ftplib.connect", "smtplib.connect",
    "http.client.connect", "pickle.find_class", "shelve.open", "os.kill", "os.chown", "os.setxattr",
    "webbrowser.open", "cpython.run_",
)  # fmt: skip
WORKERS = ("asterism/core/workers/",)
#: These change the file system: their first arguments must lie in the process's own folder.
CHANGING = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.", "sqlite3.connect",
)  # fmt: skip
#: Who compiles text that no file says: classes, wrappers and annotations of libraries, sources of
#: functions that autograph converts, literals (which execute nothing), our own templates and
#: backends, and what PyTorch and SymPy write of graphs that torch_archive.py has rewritten.
MAKERS = (
    "dataclasses.py", "collections/__init__.py", "enum.py", "typing.py", "inspect.py", "ast.py",
    "linecache.py", "textwrap.py", "functools.py", "tokenize.py", "decorator.py", "attr/_make.py",
    "pydantic/", "jinja2/", "absl/", "gast/", "astunparse/", "numpy/", "scipy/", "h5py/", "sympy/",
    "torch/", "tensorflow/python/autograph/", "asterism/differential/",
)  # fmt: skip
#: Modules that nothing here needs: attacks name them to see whether a name is imported.
BAIT = ("this", "antigravity", "turtledemo", "idlelib", "stranger", MARK)
_PATHS = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
_INSTALLED = tuple(os.path.realpath(p) for p in (*_PATHS, ROOT / "src", ROOT / "tests"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """Notes violations while it is on.

    Args:
        home: the folder that a reader may write to: its own state and temporary files.
    """

    def __init__(self, home: Path) -> None:
        self._home = f"{os.path.realpath(home)}/"
        self._on = False
        self._known: set[str] = set()
        self._violations: list[str] = []
        sys.addaudithook(self._hook)

    def start(self) -> None:
        self._violations.clear()
        self._known = set(sys.modules)
        self._on = True

    def stop(self) -> list[str]:
        """Look no more; what was noted since ``start``."""
        self._on = False
        for name in sys.modules.keys() - self._known:
            file = getattr(sys.modules[name], "__file__", None)
            named = isinstance(file, str) and file.startswith("/")  # PyTorch makes others up
            if name.partition(".")[0] in BAIT or (named and not _is_installed(file)):
                self._violations.append(f"imported {name} from {file}")
        return self._violations[:20]

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self._on:
            self._on = False  # what judging does itself is no violation
            try:
                if self._is_foreign(event, args):
                    self._violations.append(f"{event} {args!r:.160} by {_callers()[0]}")
            finally:
                self._on = True

    def _is_foreign(self, event: str, args: tuple[Any, ...]) -> bool:
        match event:
            case "open":
                path, _, flags = args
                writes = isinstance(flags, int) and flags & _WRITING and not isinstance(path, int)
                # A link in the file's place is opened.
                return bool(writes) and not self._is_own(path, not flags & os.O_NOFOLLOW)
            case "compile":
                # Whoever writes source, never of a file's text; NumPy's headers are literals.
                if MARK in str(args[0]):
                    return not _is_by(("numpy/",))
                by_name = isinstance(args[1], str) and _is_installed(args[1])
                return not (args[0] is None or by_name or _is_by(MAKERS))
            case "exec":
                name = args[0].co_filename
                return not (_is_installed(name) or name.startswith("<frozen ") or _is_by(MAKERS))
            case "marshal.loads":
                return not _callers()[0].startswith("<frozen importlib")
            case "ctypes.dlopen":  # the system's own libraries go by their names
                return "/" in str(args[0]) and not _is_installed(str(args[0]))
        if event.startswith(FORBIDDEN):
            return not _is_by(WORKERS)
        return event.startswith(CHANGING) and any(
            isinstance(path, str | bytes | os.PathLike) and not self._is_own(path, follows=False)
            for path in args[:2]
        )

    def _is_own(self, path: str | bytes | os.PathLike[str], follows: bool) -> bool:
        """Whether a path lies in the process's folder; a link at its end may not be followed."""
        name = os.fsdecode(path)
        folder, file = os.path.split(name)
        real = os.path.realpath(name) if follows else f"{os.path.realpath(folder)}/{file}"
        return f"{real}/".startswith(self._home) or real in ("/dev/null", "/dev/tty")


def _is_installed(path: str) -> bool:
    return os.path.realpath(path).startswith(_INSTALLED)


def _callers() -> list[str]:
    """Files of the three innermost frames outside this module."""
    frame = sys._getframe(1)
    found: list[str] = []
    while frame is not None and len(found) < 3:
        if frame.f_code.co_filename != __file__:
            found.append(frame.f_code.co_filename)
        frame = frame.f_back  # type: ignore[assignment]
    return found or ["<native code>"]


def _is_by(makers: tuple[str, ...]) -> bool:
    return any(f"/{maker}" in caller for caller in _callers() for maker in makers)
