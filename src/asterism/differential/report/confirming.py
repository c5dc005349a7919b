"""Running the script of a finding, in fresh processes, to see whether it shows the finding."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from asterism.core.files.folders import private_temporary_folder
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.differential.adapters import torchvision
from asterism.differential.oracle.finding import Finding
from asterism.differential.report.script_writer import PATIENCE
from asterism.memo.graphs import light_keras

#: Time limit of a script, in seconds: some compile C++, and the machine may be busy.
SECONDS = 300

#: How a run ends that takes too long, as ``timeout`` of the GNU utilities has it.
TOO_LATE = 124

#: What a script prints before what is right, and before what the library gives.
EXPECTED, ACTUAL = "expected", "actual"

#: Characters of an output that are kept: its end says what fails.
_MOST = 4000

#: Packages that import torchvision, which may not fit the installed PyTorch.
_NEEDS_TORCHVISION = re.compile(r"(import|from) onnx2(torch|pytorch)\b")


@dataclass(frozen=True)
class ScriptRun:
    """How a script ended.

    Args:
        status: exit status, negative for a signal; None where it took too long.
        output: what it printed, without folders of this machine.
    """

    status: int | None
    output: str

    @property
    def shows(self) -> bool:
        """Whether the script has seen the bug: Python ends with 1 too where it cannot go on."""
        return self.status == 1 and ACTUAL in self.output

    def end(self, death: str = "") -> int:
        """How the script ended: 1 shows the bug, 0 does not, 124 is a timeout.

        What fails otherwise than the script looks for gives 2, or its own exit status.

        Args:
            death: how a process ends that shows the finding, see :func:`describe_death`.
        """
        status = TOO_LATE if self.status is None else self.status
        shown = {"": self.shows, "signal": status < 0, "hang": status == TOO_LATE}
        if shown.get(death, str(status) == death):
            return 1
        return 2 if status == 1 or status < 0 else status


def describe_death(finding: Finding) -> str:
    """How a process ends that shows a finding, where it is not by the script's own status.

    Returns:
        ``signal`` for any; ``hang``; the number of an exit status; or nothing.
    """
    if finding.symptom == "hang":
        return "hang"
    if finding.exception.startswith("SIG"):
        return "signal"
    return finding.exception.split()[-1] if finding.exception.startswith("exit status") else ""


def exit_statuses(
    script: Path,
    times: int,
    interpreter: Interpreter = OWN_INTERPRETER,
    death: str = "",
) -> tuple[int, ...]:
    """How processes that run a script end, see :meth:`ScriptRun.end`.

    After a process that does not show the bug no other one is started.

    Args:
        script: its file.
        times: how many processes.
        interpreter: the Python that runs them.
        death: how a process ends that shows the finding, see :func:`describe_death`.
    """
    limit = PATIENCE if death == "hang" else SECONDS
    found: list[int] = []
    while len(found) < times and all(status == 1 for status in found):
        found.append(run_script(script, interpreter, limit).end(death))
    return tuple(found)


def run_script(
    script: Path, interpreter: Interpreter = OWN_INTERPRETER, seconds: float = SECONDS
) -> ScriptRun:
    """Run a script in a fresh process and an empty folder.

    Where it imports what imports torchvision, it has the workers' stand-in for a broken one. Keras
    finds only what the script names, as in the workers.

    Args:
        script: its file.
        interpreter: the Python that runs it.
        seconds: time limit.
    """
    text = script.read_text("utf-8", "replace")
    first = [light_keras.__file__] if light_keras.unneeded_by(text) else []
    first += [torchvision.__file__] if _NEEDS_TORCHVISION.search(text) else []
    with private_temporary_folder() as folder:  # a process that is stopped removes no files
        given = dict(os.environ) | {"TMPDIR": str(folder)}
        if interpreter != OWN_INTERPRETER:  # it finds by itself what is to be found there
            given.pop("PYTHONPATH", None)
            given["PYTHONNOUSERSITE"] = "1"
        printed = folder / "printed.txt"
        with printed.open("wb") as file:
            status = run_alone(
                [interpreter.executable, "-u", *first, str(script.resolve())],
                seconds,
                cwd=folder,
                env=given,
                stdout=file,
                stderr=DEVNULL,
            )
        text = printed.read_bytes()[-_MOST:].decode("utf-8", "replace")
        return ScriptRun(status, _without_folders(text, folder, script.parent.resolve()))


def _without_folders(text: str, *places: Path) -> str:
    """A text without folders and addresses, which are others in each run."""
    for folder in (*map(str, places), sys.prefix, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    text = re.sub(r"lib/python3\.\d+/site-packages/", "", text)
    return re.sub(r"\b0x[0-9a-f]{6,}", "0x…", text)
