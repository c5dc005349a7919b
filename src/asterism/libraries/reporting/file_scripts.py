"""Scripts that hold a model as a file: they need one library and NumPy, in whatever version."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.backends import library_of
from asterism.libraries.adapters.environments import versions_of
from asterism.libraries.adapters.library import CONVERTERS, FileLibrary
from asterism.libraries.judging.finding import Finding
from asterism.libraries.reporting.programs import arrays_text
from asterism.libraries.reporting.python_text import in_docstring
from asterism.libraries.reporting.script_checks import OTHERWISE, check_of, values_check, watch_of

#: Characters of a line of the file's text.
_WIDTH = 95


def file_script(
    title: str,
    library: FileLibrary,
    option: str,
    content: bytes,
    inputs: Sequence[NDArray[Any]],
    expected: tuple[Sequence[NDArray[Any]], Sequence[NDArray[Any]], Sequence[str]] | None,
    finding: Finding,
    source: str = "a float64 run",
) -> str:
    """A script that exits 1 where a version shows the finding, 0 where it does not, 2 otherwise.

    Args:
        title: what the script is about, one line.
        library: runs the file.
        option: how it runs it.
        content: of the file.
        inputs: the batch that shows it.
        expected: right outputs, the tolerated deviation of each of their elements, and their
            dtypes; None where something fails.
        finding: what is looked for.
        source: what the right outputs come from.
    """
    steps = [
        "folder = tempfile.TemporaryDirectory()",
        f'path = os.path.join(folder.name, "model{library.suffix}")',
        'open(path, "wb").write(base64.b64decode(MODEL))',
        "outputs = run(path, INPUTS)",
    ]
    readable = library.readable(content, next((len(i) for i in inputs if i.ndim), None))
    text = "\n".join(textwrap.wrap(base64.b64encode(readable).decode(), _WIDTH))
    parts = [
        _HEAD.format(
            title=in_docstring(title),
            nodes=in_docstring(textwrap.indent("\n".join(_nodes(library, content)), "    ")),
            begin=OTHERWISE + watch_of(finding),
        ),
        library.script(option),
        f'\n\nMODEL = """\n{text}\n"""\nINPUTS = {arrays_text(inputs)}\n',
    ]
    if expected is None:
        return "".join(parts) + check_of(finding, steps)
    outputs, tolerances, dtypes = expected
    parts += [
        f"EXPECTED = {arrays_text(outputs)}  # {source}\n",
        f"TOLERANCES = {arrays_text(tolerances)}\n",
        f"DTYPES = {list(dtypes)}\n",
    ]
    return "".join(parts) + values_check(steps)


def own_environment(finding: Finding) -> str | None:
    """The library with its environment that a finding's script runs in; None for this Python."""
    first = next((b for b in finding.backends if b not in CONVERTERS), "")
    return library_of(first) if "@" in library_of(first) else None


def packages_of(library: str) -> str:
    """The packages of a library's environment that it names, with their versions."""
    return ", ".join(f"{package} {v}" for package, v in versions_of(library).items())


def _nodes(library: FileLibrary, content: bytes) -> list[str]:
    """The nodes of an ONNX file as ONNX itself writes them; large constants are not there."""
    if library.suffix != ".onnx":
        return [f"({library.suffix})"]
    import onnx

    model = onnx.load_model_from_string(content)
    return [onnx.printer.to_text(node).strip() for node in model.graph.node]


_HEAD = '''"""{title}

The model, which stands below as a file:

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
