"""The child process: reads examples one after another, and says what came of each.

Requests and answers are lines of JSON on two pipes. An
example that ends the process, or never ends, is the parent's to notice.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import sys
import time
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


def main() -> None:
    """Serve until the requests end. Arguments: two descriptors, its home."""
    requests, answers = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
    home = Path(sys.argv[3])
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # the parent asks where a hanging reader is
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Less than what is taken for a hanging reader.
    first_reading.PATIENCE_S = isolated_model.PATIENCE_S = 4.0
    guard = Guard([home])
    sys.dont_write_bytecode = True  # what is written is a violation
    _tell(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        reader = {**READERS, "planted": PLANTED}[request["reader"]]
        path = Path(request["path"])
        match request["task"]:
            case "write":
                reader.write_whole(lambda number, path=path: _made(path / str(number)))
                _tell(answers, {"kind": "value"})
            case "load":  # a whole file, so that libraries are loaded when it counts
                reader.function(reader.read)(path)
                _tell(answers, {"kind": "value"})
            case how:
                _tell(answers, _read(reader.function(getattr(reader, how)), path, guard))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _tell(answers: Any, facts: dict[str, Any]) -> None:
    answers.write(json.dumps(facts) + "\n")
    answers.flush()


def _read(read: Any, path: Path, guard: Guard) -> dict[str, Any]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _memory("VmRSS")
    started = time.perf_counter()
    guard.start()
    try:
        read(path)
        facts = {"kind": "value"}
    except UserError as error:
        facts = _rejection(str(error), path)
    except BaseException as error:
        facts = _defect(error)
    violations = guard.stop()
    if violations:
        facts = {"kind": "code run", "what": "; ".join(violations), "where": violations[0][:80]}
    peak = max(0, _memory("VmHWM") - before)
    return {**facts, "seconds": time.perf_counter() - started, "peak_mb": peak // 1024}


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
        return {"kind": "bad message", "what": f"{problem}: {message[:300]}", "where": problem}
    return {"kind": "rejected", "what": message[:300]}


def _defect(error: BaseException) -> dict[str, Any]:
    """An error that is none of the user's: where it came from, in our code and at all."""
    frames = traceback.extract_tb(error.__traceback__, limit=-400)
    places = [
        f"{_short(f.filename)}:{f.name}" for f in frames if "/tests/readers/" not in f.filename
    ]
    ours = [place for place in places if place.startswith("asterism/")]
    where = f"{ours[-1] if ours else '?'} < {places[-1] if places else '?'}"
    kind = type(error).__name__
    said = re.sub(r"\s+", " ", str(error))[:300]
    return {"kind": "traceback", "what": f"{kind}: {said} at {where}", "where": f"{kind} {where}"}


def _short(path: str) -> str:
    return re.sub(r".*/(?:site-packages|python3\.\d+|src)/", "", path)


def _memory(key: str) -> int:
    """Of this process, in kB."""
    found = re.search(rf"^{key}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    main()
