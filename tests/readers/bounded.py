"""Readers run on crafted files in a child process whose memory and time are limited.

The child may take a little memory beyond what it has when the readers' libraries are loaded. So a
reader that allocates what a file declares fails here, whatever the machine has.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: MB that a reader may take for a crafted file, each of which has a few MB at most.
ROOM = 600
#: Seconds of a processor that it may take.
SECONDS = 10

_CHILD = """
import importlib, json, re, resource, signal, sys, time
from pathlib import Path
from asterism.core.messages.errors import UserError

def held(key):
    return int(re.search(key + r":\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

def give_up(*_):
    raise TimeoutError

signal.signal(signal.SIGPROF, give_up)
orders = json.loads(sys.stdin.read())
hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
for reader, paths, imports in orders["readers"]:
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    module, _, name = reader.partition(":")
    for needed in imports:
        importlib.import_module(needed)
    read = getattr(importlib.import_module(module), name)
    resource.setrlimit(resource.RLIMIT_DATA, (held("VmData") + orders["room"] * 10**6, hard))
    for path in paths:
        before = held("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 2 * orders["seconds"])
        try:
            read(Path(path))
            answer = "read"
        except UserError as error:
            answer = f"UserError: {error}"
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        if (spent := time.process_time() - started) > orders["seconds"]:
            answer = f"took {spent:.0f} s"
        taken = max(0, held("VmHWM") - before) // 10**6
        print("ANSWER", json.dumps([path, answer, taken]), flush=True)
"""


def answers(readers):
    """What readers say of files, and the MB that each took, by the file's path.

    Args:
        readers: for each of them ``package.module:function`` that takes a path, the files, and
            modules that it loads late, whose own memory is not the files'.
    """
    orders = {
        "readers": [(reader, [*map(str, paths)], imports) for reader, paths, imports in readers],
        "room": ROOM,
        "seconds": SECONDS,
    }
    source = os.environ.get("PYTHONPATH", str(ROOT / "src"))
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parent}"}
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(orders),
        capture_output=True,
        text=True,
        timeout=900,
        env=environment,
        check=False,
    )
    lines = [line[7:] for line in child.stdout.splitlines() if line.startswith("ANSWER ")]
    found = {Path(path): (answer, taken) for path, answer, taken in map(json.loads, lines)}
    for path in [path for _, paths, _ in readers for path in paths][len(lines) :][:1]:
        found[path] = (f"ended the process ({child.returncode}): {child.stderr[-300:]}", 0)
    return found
