"""How a reproducer decides: 1 while the bug lives, 0 when it is gone, 2 when something else fails.

These are texts that scripts end with. What they call the bug is what the oracle recorded: the same
differences, the same exception, the same kind of death.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from asterism.libraries.judging.difference import difference
from asterism.libraries.judging.finding import (
    INTERNAL_ERROR,
    SILENT_ACCEPTANCE,
    WRONG_BUFFERS,
    Finding,
    failed_condition,
    skeleton,
)

#: What the reproducer of a hang waits for, in seconds, and of a memory blow-up allows.
PATIENCE = 60
MEMORY_MB = 3000

#: What :func:`asterism.libraries.running.messages.steady` writes in place of what was said.
_SAID_OTHERWISE = re.compile(r"\b(ADDRESS|NUMBER|NAME)\b|_N\b|…")


def values_check(steps: Sequence[str]) -> str:
    """Outputs are compared as the oracle compares them, by the source of its own function.

    Args:
        steps: lines that set ``outputs``.
    """
    comparison = "\n\n" + inspect.getsource(difference)
    return comparison + _VALUES.replace("STEPS", "\n    ".join(steps))


def buffers_check(steps: Sequence[str]) -> str:
    """Strides and shared memory of the outputs are compared with those of an eager run.

    Args:
        steps: lines that set ``outputs`` and ``expected``: strides and shared memory.
    """
    return _BUFFERS.replace("STEPS", "\n    ".join(steps))


def check_of(finding: Finding, steps: Sequence[str]) -> str:
    """The exception, or the end of the process, is compared with the recorded one.

    Args:
        finding: a failure.
        steps: lines that fail.
    """
    lines = "\n        ".join(steps)
    if finding.symptom == SILENT_ACCEPTANCE:
        return _check("an exception", _IF_REJECTED, lines, lives=True)
    if finding.deadly:
        limit = _LIMIT.replace("MEGABYTES", str(MEMORY_MB)) if finding.symptom == "memory" else ""
        return limit + _CHILD.replace("STEPS", lines)
    condition, rest = failed_condition(finding.message)
    words = [
        word
        for word in (condition, *skeleton(rest).split())
        if word and not _SAID_OTHERWISE.search(word)
    ]
    name = finding.exception
    if finding.symptom == WRONG_BUFFERS:  # the script raises it itself
        name = f"__main__.{name.rpartition('.')[2]}"
    facts = f"\nEXCEPTION = {name!r}\nWORDS = {words}\n"
    if finding.symptom == INTERNAL_ERROR:
        wanted = "the model runs, or an exception says what is wrong"
        return facts + RECORDED + _check(wanted, _IF_TOLD, lines)
    return facts + RECORDED + _check("the model runs", _IF_RECORDED, lines)


def watch_of(finding: Finding) -> str:
    """What a script does before it imports a library: nothing, or start itself again and watch.

    Args:
        finding: a process that dies, hangs or blows up is watched by another.
    """
    if not finding.deadly:
        return ""
    if finding.symptom == "hang":
        lives = "status is None"
    elif finding.symptom == "memory":
        lives = f"status is not None and (status < 0 or status == {_OUT_OF_MEMORY})"
    elif finding.exception.startswith("SIG"):
        lives = "status is not None and status < 0"
    else:
        lives = f"status == {int(finding.exception.split()[-1])}"
    return _WATCH.replace("LIVES", lives).replace("SECONDS", str(PATIENCE))


#: Before anything is imported: an exception of Python's own ends a process with 1 otherwise.
OTHERWISE = '''
def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise
'''

_VALUES = """

def main():
    STEPS
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        found = difference(actual, expected, tolerance, dtype)
        print("differs ", *(found or ["no"]))
        wrong |= found is not None
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
"""

_BUFFERS = """

def main():
    STEPS
    wrong = outputs != expected
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
"""

RECORDED = '''

def recorded(error):
    """Whether this is the exception that was seen: its type, and the words of its message."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return name == EXCEPTION and all(word in str(error) for word in WORDS)
'''

_FAILS = """

def main():
    print("expected: WANTED")
    try:
        STEPS
    except BaseException as error:
        print("actual  :", type(error).__name__, error)
ENDS
    print("actual  : it runs; WHERE_IT_RUNS")
    return STATUS


sys.exit(main())
"""

#: The recorded exception is the bug, and another one says nothing.
_IF_RECORDED = """        if not recorded(error):
            otherwise(type(error), error, error.__traceback__)
        print("the bug lives")
        return 1"""

#: Any exception of a library is what is wanted.
_IF_REJECTED = """        if isinstance(error, ImportError):
            otherwise(type(error), error, error.__traceback__)
        print("it is rejected; the bug is gone")
        return 0"""

#: The recorded exception is the bug, and any other one is what is wanted.
_IF_TOLD = f"""        if recorded(error):
            print("the bug lives")
            return 1
{_IF_REJECTED}"""


def _check(wanted: str, ends: str, steps: str, *, lives: bool = False) -> str:
    """What a failing model ends with, and whether the bug lives where it runs."""
    words = {
        "WANTED": wanted,
        "ENDS": ends,
        "WHERE_IT_RUNS": "the bug lives" if lives else "the bug is gone",
        "STATUS": str(int(lives)),
        "STEPS": steps,
    }
    text = _FAILS
    for name, word in words.items():
        text = text.replace(name, word)
    return text


_LIMIT = """

import resource

# More than this on top of what the imports took is a blow-up.
with open("/proc/self/status") as status:
    taken = next(int(line.split()[1]) for line in status if line.startswith("VmData"))
limit = taken * 1024 + MEGABYTES * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
"""

#: How the watched process says so, where a library stops without more memory.
_OUT_OF_MEMORY = 3

_CHILD = f"""

def main():
    try:
        STEPS
    except BaseException as error:
        said = f"{{type(error).__name__}} {{error}}"
        print(said)
        if "memory" in said.lower() or "alloc" in said.lower():
            return {_OUT_OF_MEMORY}
        otherwise(type(error), error, error.__traceback__)
    return 0


sys.exit(main())
"""

_WATCH = """

def watch():
    import subprocess
    import tempfile

    print("expected: the model runs")
    command = [sys.executable, __file__, "watched"]
    with tempfile.TemporaryDirectory() as folder:  # a process that dies removes no files
        environment = {**os.environ, "TMPDIR": folder}
        try:
            status = subprocess.run(command, env=environment, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            status = None
    print("actual  : the process ended with", status, "(None: it still ran after SECONDS seconds)")
    if LIVES:
        print("the bug lives")
        return 1
    if status == 0:
        print("the bug is gone")
        return 0
    print("another failure than the recorded one: it says nothing about the bug")
    return 2


if "watched" not in sys.argv:
    sys.exit(watch())
"""
