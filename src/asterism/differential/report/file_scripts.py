"""Scripts of a model that is a file: it lies beside them, with the arrays, as do the outputs.

They need one library and NumPy, in whatever version.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import write_arrays
from asterism.differential.adapters.library import FileLibrary
from asterism.differential.oracle.finding import Finding
from asterism.differential.report.decisions import (
    FailureDecision,
    OutputDecision,
    Right,
    comparing,
    failing,
)
from asterism.differential.report.program_text import Runner, ScriptProgram

Arrays = Sequence[NDArray[Any]]


def write_file_script(
    script: Path,
    title: str,
    backend: str,
    content: bytes,
    inputs: Arrays,
    right: Right | None,
    finding: Finding,
) -> None:
    """Write a script that exits 1 where a version shows the finding, its model and its arrays.

    Args:
        script: its file.
        title: what the script is about, one line.
        backend: that is to blame.
        content: of the model's file.
        inputs: the batch that shows it.
        right: what is right; None where something fails.
        finding: what is looked for.
    """
    runner = Runner.of([backend])
    assert isinstance(runner.library, FileLibrary)
    suffix, batch = runner.library.suffix, next((len(i) for i in inputs if i.ndim), None)
    code = runner.lines(len(inputs), "")
    lines = (
        "os.chdir(os.path.dirname(os.path.abspath(__file__)))",
        f'path, arrays = "model{suffix}", np.load("arrays.npz")',
        f'inputs = [arrays[f"input{{n}}"] for n in range({len(inputs)})]',
        *filter(None, (code.prepare, code.call)),
    )
    program = ScriptProgram(("import os", *code.imports), lines)
    arrays = {f"input{n}": array for n, array in enumerate(inputs)}
    decision: OutputDecision | FailureDecision = failing(finding, "it runs")
    if right is not None:
        count = len(right.expected)
        reference = f'expected = [arrays[f"expected{{n}}"] for n in range({count})]'
        arrays |= {f"expected{n}": array for n, array in enumerate(right.expected)}
        decision = comparing(right, reference)
    script.write_text(program.script(title, runner.versions, decision), encoding="utf-8")
    (script.parent / f"model{suffix}").write_bytes(runner.library.readable(content, batch))
    write_arrays(script.parent / "arrays.npz", **{n: np.asarray(a) for n, a in arrays.items()})
