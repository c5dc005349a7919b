"""Running the script of a finding, in fresh processes, to see whether it shows the finding."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.messages.console import get_logger
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.differential.oracle.finding import Finding
from asterism.differential.report import repeating
from asterism.differential.report.python_text import compiles
from asterism.differential.report.repeating import OTHERWISE, TOO_LATE
from asterism.differential.report.script_writer import PATIENCE
from asterism.differential.report.stand_in import script_environment

log = get_logger(__name__)

#: A script runs alone on a machine that may be busy.
_SECONDS = 300

#: Runs a script; what fails otherwise than it looks for ends with 2, not with Python's own 1.
_ALONE = (
    "import sys; from runpy import run_path; sys.argv = sys.argv[1:]\n"
    + OTHERWISE
    + """
run_path(sys.argv[0], run_name="__main__")
"""
)

#: With one thread for NumPy's linear algebra, importing Keras starts no thread on most backends.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Death:
    """How a process must end that shows a finding, where it is not by the script's own status.

    Args:
        kind: ``signal`` for any; ``hang``; the number of an exit status; or nothing.
        seconds: after which a hang is one.
    """

    kind: str = ""
    seconds: float = _SECONDS

    def shown_by(self, status: int) -> int:
        """The status as a script that decides by itself would have it: 1 is the bug."""
        wanted = {
            "signal": status < 0,
            "hang": status == TOO_LATE,
            "": status == 1,
        }.get(self.kind, str(status) == self.kind)
        if wanted:
            return 1
        return 2 if status == 1 or status < 0 else status


def death_of(finding: Finding) -> Death:
    """How a process ends that shows a finding."""
    if finding.symptom == "hang":
        return Death("hang", PATIENCE)
    if finding.exception.startswith("SIG"):
        return Death("signal")
    if finding.exception.startswith("exit status"):
        return Death(finding.exception.split()[-1])
    return Death()


def exit_status(script: Path) -> int:
    """How a fresh process that runs a script ends, see :func:`exit_statuses`."""
    return exit_statuses(script, 1)[0]


def exit_statuses(
    script: Path,
    times: int,
    interpreter: Interpreter = OWN_INTERPRETER,
    death: Death = Death(),
) -> tuple[int, ...]:
    """How processes that run a script end: 1 is the bug, 0 none, 124 is too late.

    Each run is a process of its own, from the script's first line to its last. They share one
    import of Keras where that is safe: see :mod:`asterism.differential.report.repeating`. What
    fails otherwise than the script looks for gives 2, as does a script that is not valid Python.

    Args:
        script: its settings of ``os.environ`` at the top hold for the shared import too.
        times: how many processes.
        interpreter: the Python that runs them. Only processes of this one share an import.
        death: how a process ends that shows the finding.
    """
    text = script.read_text(encoding="utf-8")
    if not compiles(text):
        log.warning("a script is not valid Python and confirms nothing", script=str(script))
        return (2,) * times
    found: list[int] = []
    while len(found) < times:
        together = times if not found and interpreter == OWN_INTERPRETER else 1
        found += _run(script, _environment(text), together, interpreter, death.seconds)
    return tuple(map(death.shown_by, found))


def _run(
    script: Path,
    environment: dict[str, str],
    times: int,
    interpreter: Interpreter,
    seconds: float,
) -> list[int]:
    """Run a script once, or as often as is asked for where the runs can share an import."""
    with own_temporary_folder() as folder:  # a process that is stopped removes no files
        command = [interpreter.executable, "-c", _ALONE, str(script.resolve())]
        given = dict(os.environ) | script_environment(script, folder)
        if interpreter != OWN_INTERPRETER:  # nothing that is installed here is to be found there
            given.pop("PYTHONPATH", None)
            given["PYTHONNOUSERSITE"] = "1"
        statuses = folder / "statuses.json"
        if times > 1:
            command[1:] = ["-m", repeating.__name__, command[-1]]
            command += [str(times), str(seconds), str(statuses)]
            environment = environment | _ONE_THREAD
        last = run_alone(
            command,
            seconds * times,
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
    for statement in ast.parse(text).body:
        match statement:
            case ast.Import(names=[ast.alias(name="keras")]):
                break
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update"), keywords=given)):
                return {str(g.arg): str(ast.literal_eval(g.value)) for g in given}
    return {}
