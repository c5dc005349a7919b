"""The child process: reads examples one after another, and says what came of each.

Requests and answers are lines of JSON on its standard streams. An example that takes too long ends
the process, with the stack of the reader as its last words.

What a reader does beyond reading is noted. Python announces what could act on the machine by audit
events (``sys.addaudithook``). While an example is read, each is compared with what readers and
their libraries do for reasons of their own; anything else is a violation. What native code does is
not announced: that no file outside the example's folder is touched, the parent watches
(``readers.watch.Bait``).
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import site
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.models import isolated_model
from asterism.models.keras_models import limits
from hostile_text import MARK
from places import ROOT
from readers.table import PLANTED, READERS

#: A file's name, as messages have it.
_FILE = re.compile(r"[\w-]\.(json|ya?ml|lock|np[yz]|csv|svg|h5|keras|onnx|tflite|pt2|gz|bin|png)\b")
#: A message longer than this is no line for a user.
LONGEST = 4000


def main(home: Path, cpu_s: float, wall_s: float) -> None:
    """Serve until the requests end."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # says where the reader is, and ends it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Less than what is taken for a hanging reader.
    limits.PATIENCE_S = isolated_model.PATIENCE_S = 4.0
    guard = Guard(home)
    sys.dont_write_bytecode = True  # what is written is a violation
    for line in requests:
        request = json.loads(line)
        reader = {**READERS, "planted": PLANTED}[request["reader"]]
        path, task = Path(request["path"]), request["task"]
        facts: dict[str, Any] = {"kind": "value"}
        if task == "write":
            reader.write_whole(lambda number, path=path: _made(path / str(number)))
        elif task == "load":  # a whole file, so that libraries are loaded when it counts
            reader.function(reader.read)(path)
        else:
            signal.setitimer(signal.ITIMER_PROF, cpu_s)
            faulthandler.dump_traceback_later(wall_s, exit=True)
            facts = _read(reader.function(getattr(reader, task)), path, guard)
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(facts) + "\n")
        answers.flush()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _read(read: Any, path: Path, guard: Guard) -> dict[str, Any]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _memory_kb("VmRSS")
    guard.start()
    try:
        read(path)
        facts = {"kind": "value"}
    except UserError as error:
        facts = _rejection(str(error), path)
    except BaseException as error:
        facts = _defect(error)
    if violations := guard.stop():
        facts = {"kind": "code run", "what": "; ".join(violations)}
    return {**facts, "peak_mb": max(0, _memory_kb("VmHWM") - before) // 1024}


def _rejection(message: str, path: Path) -> dict[str, Any]:
    """A UserError has one line, which says something, and of which file."""
    names = {path.name, path.stem, path.parent.name}
    problem = ""
    if not message.strip() or "\n" in message:
        problem = "the error's message is not one line"
    elif len(message) > LONGEST:
        problem = f"the error's message has {len(message)} characters"
    elif not _FILE.search(message) and not any(name in message for name in names if name):
        problem = "the error names no file"
    if problem:
        return {"kind": "bad message", "what": f"{problem}: {message[:300]}"}
    return {"kind": "rejected", "what": message[:300]}


def _defect(error: BaseException) -> dict[str, Any]:
    """An error that is none of the user's: where it came from, in our code and at all."""
    frames = traceback.extract_tb(error.__traceback__, limit=-400)
    places = [f"{f.filename}:{f.name}" for f in frames if "/tests/readers/" not in f.filename]
    ours = [place for place in places if "/asterism/" in place]
    where = " < ".join([*ours[-1:], *places[-1:]])
    return {"kind": "traceback", "what": f"{type(error).__name__}: {error!s:.300} at {where}"}


def _memory_kb(key: str) -> int:
    found = re.search(rf"^{key}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return int(found[1]) if found else 0


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


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
