"""Running the script of a finding, in fresh processes, to see whether it shows the finding."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.messages.console import get_logger
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import (
    OWN_INTERPRETER,
    ForkServer,
    Interpreter,
    LaunchError,
)
from asterism.core.workers.worker import Limits, WorkerDied, WorkerProcess
from asterism.differential.oracle.finding import Finding
from asterism.differential.report.python_text import compiles
from asterism.differential.report.repeating import import_first, run_script
from asterism.differential.report.script_writer import PATIENCE
from asterism.differential.report.stand_in import script_environment

log = get_logger(__name__)

#: A script runs alone on a machine that may be busy.
_SECONDS = 300

#: How a run ends that takes too long, as ``timeout`` of the GNU utilities has it.
TOO_LATE = 124

#: Runs a script; what fails otherwise than it looks for ends with 2, not with Python's own 1.
_ALONE = """
import os, runpy, sys

def otherwise(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    sys.exit(2)

sys.argv, sys.excepthook = sys.argv[1:], otherwise
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Modules that take most of the time of scripts that import them.
_DEAR = ("keras", "tensorflow")

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

    Each run is a process of its own, from the script's first line to its last. Several share one
    import of what is dear where that is safe, see :mod:`.repeating`. What fails otherwise than the
    script looks for gives 2, as does a script that is not valid Python.

    Args:
        script: its settings of ``os.environ`` at the top hold for the shared import too.
        times: how many processes.
        interpreter: the Python that runs them. Only processes of this one share an import.
        death: how a process ends that shows the finding.
    """
    text, path = script.read_text(encoding="utf-8"), script.resolve()
    if not compiles(text):
        log.warning("a script is not valid Python and confirms nothing", script=str(script))
        return (2,) * times
    found: list[int] = []
    with own_temporary_folder() as folder:  # a process that is stopped removes no files
        given = {**script_environment(script, folder), **_environment(text), "TMPDIR": str(folder)}
        dear = next((name for name in _DEAR if re.search(rf"^import {name}\b", text, re.M)), "")
        if dear and times > 1 and interpreter == OWN_INTERPRETER:
            found = _forked(dear, path, folder, times, given, death.seconds)
        while len(found) < times:
            found.append(_alone(path, folder, interpreter, given, death.seconds))
    return tuple(map(death.shown_by, found))


def _forked(
    dear: str, script: Path, folder: Path, times: int, environment: dict[str, str], seconds: float
) -> list[int]:
    """How forks of one process end that has imported a module; none where nothing can be forked."""
    server = ForkServer(f"imports {dear}", import_first, [dear], {**environment, **_ONE_THREAD})
    process = WorkerProcess(run_script, [str(script), str(folder)], forks=server)
    found: list[int] = []
    try:
        for _ in range(times):
            process.start()
            try:
                process.receive(Limits(seconds))
            except WorkerDied as ended:
                found.append(_status_of(ended))
    except LaunchError as error:
        log.debug("scripts share no import", reason=str(error))
    finally:
        process.stop()
        server.stop()
    return found


def _status_of(ended: WorkerDied) -> int:
    """The exit status of a process, or minus the number of a signal."""
    if ended.how == "hang":
        return TOO_LATE
    name = ended.ended.removeprefix("exit status ")
    return -signal.Signals[name] if name in signal.Signals.__members__ else int(name)


def _alone(
    script: Path,
    folder: Path,
    interpreter: Interpreter,
    environment: dict[str, str],
    seconds: float,
) -> int:
    """How a process ends that runs a script by itself."""
    given = dict(os.environ)
    if interpreter != OWN_INTERPRETER:  # nothing that is installed here is to be found there
        given.pop("PYTHONPATH", None)
        environment = {**environment, "PYTHONNOUSERSITE": "1"}
    status = run_alone(
        [interpreter.executable, "-c", _ALONE, str(script)],
        seconds,
        cwd=folder,
        env={**given, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return TOO_LATE if status is None else status


def _environment(text: str) -> dict[str, str]:
    """What a script sets in ``os.environ`` before it imports Keras."""
    found: dict[str, str] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.Import(names=[ast.alias(name="keras")]):
                break
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="environ"), attr="update"),
                    keywords=given,
                )
            ):
                found |= {str(g.arg): str(ast.literal_eval(g.value)) for g in given}
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))
                    )
                ],
                value=ast.Constant(value=str(value)),
            ):
                found[name] = value
    return found
