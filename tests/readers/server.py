"""The child process: reads examples one after another, and says what came of each.

Requests and answers are lines of JSON on its standard streams. An example that takes too long ends
the process, with the stack of the reader as its last words.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.models.isolation import isolated_model
from asterism.models.keras_models import first_reading
from readers.guard import Guard
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
    first_reading.PATIENCE_S = isolated_model.PATIENCE_S = 4.0
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
