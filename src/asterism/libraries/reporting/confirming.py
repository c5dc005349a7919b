"""Running the script of a finding, in fresh processes, to see whether it shows the finding."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.messages.console import get_logger
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.libraries.reporting import repeating
from asterism.libraries.reporting.python_text import compiles
from asterism.libraries.reporting.repeating import TOO_LATE
from asterism.libraries.reporting.stand_in import script_environment

log = get_logger(__name__)

#: A script runs alone on a machine that may be busy.
_SECONDS = 300

#: With one thread for NumPy's linear algebra, importing Keras starts no thread on most backends.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def exit_status(script: Path) -> int:
    """How a fresh process that runs a script ends, see :func:`exit_statuses`."""
    return exit_statuses(script, 1)[0]


def exit_statuses(
    script: Path, times: int, interpreter: Interpreter = OWN_INTERPRETER
) -> tuple[int, ...]:
    """How processes that run a reproducer end: 1 is the bug, 0 none, 124 is too late.

    Each run is a process of its own, from the script's first line to its last. They share one
    import of Keras where that is safe: see :mod:`asterism.libraries.reporting.repeating`. A script
    that is not valid Python gives 2: Python itself would end with 1, as for a bug.

    Args:
        script: its assignments to ``os.environ`` at the top hold for the shared import too.
        times: how many processes.
        interpreter: the Python that runs them. Only processes of this one share an import.
    """
    text = script.read_text(encoding="utf-8")
    if not compiles(text):
        log.warning("a script is not valid Python and confirms nothing", script=str(script))
        return (2,) * times
    found: list[int] = []
    while len(found) < times:
        together = times if not found and interpreter == OWN_INTERPRETER else 1
        found += _run(script, _environment(text), together, interpreter)
    return tuple(found)


def _run(
    script: Path, environment: dict[str, str], times: int, interpreter: Interpreter
) -> list[int]:
    """Run a script once, or as often as is asked for where the runs can share an import."""
    with own_temporary_folder() as folder:  # a process that is stopped removes no files
        command = [interpreter.executable, str(script.resolve())]
        given = dict(os.environ) | script_environment(script, folder)
        if interpreter != OWN_INTERPRETER:  # nothing that is installed here is to be found there
            given.pop("PYTHONPATH", None)
            given["PYTHONNOUSERSITE"] = "1"
        statuses = folder / "statuses.json"
        if times > 1:
            command[1:] = ["-m", repeating.__name__, command[1]]
            command += [str(times), str(_SECONDS), str(statuses)]
            environment = environment | _ONE_THREAD
        last = run_alone(
            command,
            _SECONDS * times,
            cwd=folder,
            env={**given, **environment, "TMPDIR": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before: list[int] = []
        with suppress(FileNotFoundError):  # of one run, or where the import itself died
            before = json.loads(statuses.read_text(encoding="utf-8"))
        return [*before, TOO_LATE if last is None else last]


def _environment(text: str) -> dict[str, str]:
    """What a script sets in ``os.environ`` before it imports Keras."""
    found: dict[str, str] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.Import(names=[ast.alias(name="keras")]):
                break
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Attribute(value=ast.Name(id="os"), attr="environ"),
                        slice=ast.Constant(value=str(name)),
                    )
                ],
                value=ast.Constant(value=str(value)),
            ):
                found[name] = value
    return found
