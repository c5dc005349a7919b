"""Notes what Python processes do that no stage of a stranger's data may make them do.

A test copies this file as ``sitecustomize.py`` into a folder on ``PYTHONPATH``. Every Python
process below then has an audit hook from its start on. Nothing is prevented: violations are noted,
a line each.
"""

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

#: File for violations, a line each, and for the commands of the processes that were watched.
VIOLATIONS, WATCHED = "CANARY_VIOLATIONS", "CANARY_WATCHED"
#: The project whose files are data, but for its source; patterns of what may be written.
CLONE, WRITABLE = "CANARY_CLONE", "CANARY_WRITABLE"

#: What libraries ask about the machine by, beside Python, git, and the shell that runs a stage.
_PROGRAMS = {"git", "sh", "bash", "timeout", "make", "uname", "ldconfig", "fc-list"}
#: Where a process writes that changes nothing.
_DEVICES = ("/dev/", "/proc/self/", f"/proc/{os.getpid()}/")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _path(name, folder=-1):
    """An absolute path of what an audit event names."""
    path = Path(os.fsdecode(name))
    if folder is not None and folder >= 0:
        path = Path(f"/proc/self/fd/{folder}").readlink() / path
    # The last part may be a link, which is what is changed.
    return str(path.parent.resolve() / path.name)


def _is_below(path, folders):
    """Whether a path is one of these, or lies below; they may be patterns."""
    return any(fnmatchcase(f"{path}/", f"{folder}/*") for folder in folders)


def _unwritable(name, folder=-1):
    if isinstance(name, int):
        return None
    path = _path(name, folder)
    writable = os.environ[WRITABLE].split(os.pathsep)
    return None if path.startswith(_DEVICES) or _is_below(path, writable) else path


def _made(name, _, folder):
    path = _unwritable(name, folder)
    return None if path is None or Path(path).is_dir() else path


def _opened(name, mode, flags):
    writes = set(mode) & set("wax+") if mode is not None else flags & _WRITES
    return _unwritable(name) if writes else None


def _started(program, *_):
    name = Path(os.fsdecode(program)).name
    return None if name in _PROGRAMS or name.startswith("python") else os.fsdecode(program)


def _popen(program, arguments, *_):
    return _started(program or (arguments if isinstance(arguments, str) else arguments[0]))


def _executed(code):
    clone = os.environ[CLONE]
    path = getattr(code, "co_filename", "")
    if path.startswith("<"):
        return None
    path = os.path.realpath(path)
    inside = _is_below(path, [clone]) and not _is_below(path, [f"{clone}/src", f"{clone}/stages"])
    return path if inside else None


def _connected(_, address):
    return None if isinstance(address, str | bytes) else address


_CHECKS = {
    "os.system": lambda command: command,
    "subprocess.Popen": _popen,
    "os.exec": _started,
    "os.posix_spawn": _started,
    "exec": _executed,
    "open": _opened,
    "os.mkdir": _made,
    "os.remove": _unwritable,
    "os.rmdir": _unwritable,
    "os.chmod": lambda path, _, folder: _unwritable(path, folder),
    "os.truncate": lambda path, _: _unwritable(path),
    "os.link": lambda _, path, __, folder: _unwritable(path, folder),
    "os.symlink": lambda _, path, folder: _unwritable(path, folder),
    "os.rename": lambda old, new, of, to: _unwritable(old, of) or _unwritable(new, to),
    "socket.connect": _connected,
}


def _note(kind, text):
    """Append a line; by a descriptor, which is no event but for its opening."""
    file = os.open(os.environ[kind], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, f"{text}\n".encode())
    finally:
        os.close(file)


def _hook(event, arguments):
    check = _CHECKS.get(event)
    if check is None:
        return
    try:
        found = check(*arguments)
    except Exception as error:  # told as a violation: the hook must see everything
        found = f"{arguments!r}: {error!r}"
    if found is not None:
        _note(VIOLATIONS, f"{event} {found!r} by {' '.join(sys.orig_argv[:4])!r}")


if __name__ == "sitecustomize":
    _note(WATCHED, " ".join(sys.orig_argv))
    sys.addaudithook(_hook)


def environment(folder, clone, writable):
    """Variables under which all Python processes are watched.

    Args:
        folder: where violations are noted, and this file is copied to.
        clone: the project.
        writable: folders and files that may be written, with all below; they may be patterns.
    """
    folder.mkdir(parents=True)
    content = Path(__file__).read_text(encoding="utf-8")
    (folder / "sitecustomize.py").write_text(content, encoding="utf-8")
    allowed = [folder / "violations", folder / "watched", *writable]
    return {
        VIOLATIONS: str(folder / "violations"),
        WATCHED: str(folder / "watched"),
        CLONE: os.path.realpath(clone),
        WRITABLE: os.pathsep.join(os.path.realpath(path) for path in allowed),
    }


def violations(folder):
    """What was noted."""
    path = folder / "violations"
    return sorted(set(path.read_text().splitlines())) if path.exists() else []


def watched(folder):
    """Commands of the processes that were watched."""
    return (folder / "watched").read_text().splitlines()
