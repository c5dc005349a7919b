"""The phase in which a finding fails: its script runs, and the frames say at which step it ends."""

from __future__ import annotations

import linecache
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from subprocess import DEVNULL

from asterism.core.files.artifacts import read_json
from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.settings.yaml_files import parse_yaml
from asterism.core.workers.processes import run_alone
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.report.script_writer import REPRO
from asterism.differential.report.stand_in import script_environment

#: A frontend or converter reads the model; a compiler makes an artefact of it; that artefact runs;
#: or the library runs the model as it is.
CONVERTING, COMPILING, RUNNING, PLAIN = "converting", "compiling", "running", "plain"
PHASES = (CONVERTING, COMPILING, RUNNING, PLAIN)
#: What reads models for another library, which may compile the result.
CONVERTING_LIBRARIES = (*CONVERTERS, "onnx2torch", "onnx2pytorch")

_PATTERNS = parse_yaml(
    files("asterism.findings").joinpath("phases.yaml").read_text(encoding="utf-8"), "phases.yaml"
)
_FRAME = re.compile(r'File "(.*?)", line (\d+) in (\S+)')


def is_of_compiled_code(library: str, phase: str) -> bool:
    """Whether a failure is one of a compiler, or of what it made.

    A converter that makes an invalid model is no compiler, though the runtime says so.

    Args:
        library: to blame.
        phase: in which it fails.
    """
    return phase in (COMPILING, RUNNING) and library not in CONVERTING_LIBRARIES


def phase_of(folder: Path, hangs: bool = False, seconds: float = 300) -> str:
    """The phase in which the script of a finding fails, found by running it; empty where it runs.

    Args:
        folder: of the finding.
        hangs: whether it is to hang; otherwise the phase of a slow run is not known, and empty.
        seconds: after which it hangs.
    """
    script = (folder / REPRO).resolve()
    probe = files("asterism.findings").joinpath("phase_probe.py")
    with own_temporary_folder() as scratch:
        answer, fatal = scratch / "answer.json", scratch / "fatal.txt"
        given = dict(os.environ) | script_environment(script, scratch)
        given |= {"TMPDIR": str(scratch), "TORCHDYNAMO_VERBOSE": "1", "CI": "true"}
        run_alone(
            [sys.executable, str(probe), str(script), str(answer), str(fatal), str(seconds)],
            seconds + 30,
            cwd=scratch,
            env=given,
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
        if answer.exists():
            found = read_json(answer)
            return phase_at(found["frames"], found["said"])
        dump = fatal.read_text(encoding="utf-8")
        late = dump.startswith("Timeout")
        return phase_at(_frames(dump), "") if late == hangs else ""


def phase_at(frames: list[str], said: str) -> str:
    """The phase of some frames, innermost first, and of what was said; empty where there are none.

    Args:
        frames: as ``file|function|line``.
        said: words of the exception.
    """
    if not frames:
        return ""
    for kind, texts in (("said", [said]), ("steps", frames)):
        for row in _PATTERNS[kind]:
            for pattern, phase in row.items():
                if any(re.search(pattern, text) for text in texts):
                    return str(phase)
    return PLAIN


def _frames(dump: str) -> list[str]:
    """The frames that :mod:`faulthandler` has written, with the text of their lines."""
    return [
        f"{file}|{function}|{linecache.getline(file, int(line)).strip()}"
        for file, line, function in _FRAME.findall(dump)
    ]
