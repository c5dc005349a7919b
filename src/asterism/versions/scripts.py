"""The script of a change: a part of a model that one version computes wrongly, or fails at."""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
import textwrap
from pathlib import Path

from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import Interpreter
from asterism.libraries.adapters.backends import (
    FILE_PERTURBED,
    FILE_REFERENCE,
    library_of,
    option_of,
    plugin_of,
    product_of,
)
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.python_text import in_docstring
from asterism.libraries.reporting.reproducer import arrays_text, tolerated
from asterism.libraries.reporting.script_checks import OTHERWISE, check_of, values_check, watch_of
from asterism.versions.blaming import Part
from asterism.versions.comparing import dtypes_of, spreads_of, tolerance_of

#: Seconds that a script may take: it imports one library and runs a small model.
_SECONDS = 120


def script_of(part: Part, title: str, params: JudgeParams) -> str:
    """A script that exits 1 where a version shows the change, 0 where it does not, 2 otherwise.

    It needs the library and NumPy; the model is in it, and its nodes are written out above.

    Args:
        part: the smallest part that shows the change.
        title: what the script is about, one line.
        params: the oracle's tolerances.
    """
    change = part.change
    backend = change.culprit
    library = plugin_of(library_of(backend))()
    expected = part.result.outputs.get(change.referee, {}).get(change.distribution, [])
    finding = _finding(part)
    check, constants = "", ""
    steps = [
        "folder = tempfile.TemporaryDirectory()",
        f'path = os.path.join(folder.name, "model{library.suffix}")',  # type: ignore[attr-defined]
        'open(path, "wb").write(base64.b64decode(MODEL))',
        "outputs = run(path, INPUTS)",
    ]
    if change.said:
        check = check_of(finding, steps)
    else:
        moved = part.result.outputs.get(FILE_PERTURBED, {}).get(change.distribution)
        moved = moved if change.referee == FILE_REFERENCE else None
        bounds = tolerance_of(part.subject, params)
        allowed = tolerated(expected, bounds, spreads_of(expected, moved))
        constants = (
            f"EXPECTED = {arrays_text(expected)}  # {_source(change.referee)}\n"
            f"TOLERANCES = {arrays_text(allowed)}\n"
            f"DTYPES = {dtypes_of(part.subject, expected)}\n"
        )
        check = values_check(steps)
    model = "\n".join(textwrap.wrap(base64.b64encode(part.subject.content).decode(), 95))
    return (
        _HEAD.format(
            title=in_docstring(title),
            nodes=in_docstring(textwrap.indent("\n".join(_nodes(part)), "    ")),
            begin=OTHERWISE + watch_of(finding),
        )
        + library.script(option_of(backend))
        + f'\n\nMODEL = """\n{model}\n"""\nINPUTS = {arrays_text(part.inputs)}\n'
        + constants
        + check
    )


def exit_status(script: Path, interpreter: Interpreter) -> int | None:
    """How the script ends in a fresh process of one version; None where it takes too long."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:  # a process that is stopped removes no files
        return run_alone(
            [interpreter.executable, str(script.resolve())],
            _SECONDS,
            cwd=folder,
            env={**given, "TMPDIR": folder, "PYTHONNOUSERSITE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _finding(part: Part) -> Finding:
    """The change as scripts' checks take it."""
    change, outcome = part.change, part.result.outcomes[part.change.culprit]
    symptom = outcome.status if outcome.status in ("hang", "memory") else "runtime crash"
    difference = change.new or change.old
    return Finding(
        0,
        difference.kind if difference is not None and not change.said else symptom,
        outcome.stage,
        product_of(library_of(change.culprit)),
        (change.culprit,),
        exception=outcome.exception,
        frame=outcome.frame,
        message=outcome.message,
    )


def _source(referee: str) -> str:
    return "a float64 run" if referee == FILE_REFERENCE else "the other version"


def _nodes(part: Part) -> list[str]:
    """The nodes as ONNX itself writes them; large constants are in the file alone."""
    from onnx import printer

    return [printer.to_text(node).strip() for node in part.subject.model.graph.node]


_HEAD = '''"""{title}

The model, which is written out below as an ONNX file:

{nodes}

Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import base64
import os
import sys
import tempfile
{begin}

import numpy as np

'''
