"""Writing ``check.py``: whether a finding still shows, decided as the oracle does.

It runs the short script beside it or, where none shows the finding, builds the minimal model
inline, with its weights and inputs as numbers. It prints what was expected and what came, and exits
1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import library_of
from asterism.libraries.adapters.environments import versions_of
from asterism.libraries.adapters.library import Converter
from asterism.libraries.judging.compare import bounds
from asterism.libraries.judging.finding import WRONG_BUFFERS
from asterism.libraries.judging.special_values import Probes
from asterism.libraries.reporting.programs import Program, Runner, arrays_text, program_of
from asterism.libraries.reporting.python_text import in_docstring, literal
from asterism.libraries.reporting.script_checks import (
    OTHERWISE,
    buffers_check,
    check_of,
    values_check,
    watch_of,
)
from asterism.libraries.running.inputs import compared_nodes
from asterism.libraries.running.tasks import LayerDescription
from asterism.libraries.running.tolerance import Tolerance
from asterism.libraries.running.worker_environment import variables
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.weights import Stored


def script_of(
    found: UniqueFinding,
    stored: Stored,
    layers: dict[int, LayerDescription],
    inputs: Sequence[NDArray[Any]],
    expected: Sequence[NDArray[Any]],
    tolerances: Sequence[NDArray[Any]],
    *,
    runs: str | None = None,
    before: Sequence[Program] = (),
) -> str:
    """The text of ``check.py``.

    Args:
        found: the unique finding.
        stored: arrays that nodes may name.
        layers: what Keras says of each layer, by node; empty where it rejects the model.
        inputs: the batch that shows it.
        expected: outputs of the float64 reference; empty where something failed.
        tolerances: tolerated deviation of each of their elements.
        runs: name of the script beside it that sets ``outputs``; None where it does all itself.
        before: what runs first, in the same process.
    """
    runner = Runner.of(found.finding.backends)
    buffers = runs is not None and found.finding.symptom == WRONG_BUFFERS
    if runs is not None:
        place = f"os.path.join(os.path.dirname(os.path.abspath(__file__)), {literal(runs)})"
        steps: tuple[str, ...] = (f'outputs = runpy.run_path({place})["outputs"]',)
        if buffers:
            both = 'outputs, expected = found["outputs"], found["expected"]'
            steps = (f"found = runpy.run_path({place})", both)
        program = Program("", steps)
        more = "import runpy\n"
    else:
        distribution = next(iter(found.finding.distributions), "")
        program = program_of(runner, found.graph, distribution, stored, layers, inputs)
        more = (
            "import tempfile\n" if "tempfile." in "".join(map(_whole, (program, *before))) else ""
        )
    head = _HEAD.format(
        title=in_docstring(found.signature),
        environment=_assignments(environment_of(runner.keras_backend)),
        versions=in_docstring(version_lines(runner.backend, runner.converter)),
        more=more,
        begin=OTHERWISE + watch_of(found.finding),
    )
    first = "".join(_first(program) for program in before)
    if expected:
        check = values_check(program.steps)
    elif buffers:
        check = buffers_check(program.steps)
    else:
        check = check_of(found.finding, program.steps)
    return head + first + program.text + _expectation(found, expected, tolerances) + check


def _whole(program: Program) -> str:
    return "\n".join((program.text, *program.steps))


def _first(program: Program) -> str:
    """A program that runs before; what it raises is not what is looked for."""
    lines = "\n".join(f"    {line}" for line in program.steps)
    return f"""{program.text}
try:  # it must have run before, in the same process
{lines}
except Exception as error:
    print("what runs before fails with", type(error).__name__)
"""


def _expectation(
    found: UniqueFinding, expected: Sequence[NDArray[Any]], tolerances: Sequence[NDArray[Any]]
) -> str:
    """What the outputs must be, where values are compared."""
    if not expected:
        return ""
    compared = compared_nodes(found.graph, found.finding.distributions)
    return (
        f"\nEXPECTED = {arrays_text(expected)}  # a float64 run\n"
        f"TOLERANCES = {arrays_text(tolerances)}\n"
        f"DTYPES = {[found.graph.tensors[i].dtype for i in compared]}\n"
    )


def environment_of(keras_backend: str) -> dict[str, str]:
    """What decides whose kernels run, and in which precision, before anything is imported.

    TensorFlow takes oneDNN's kernels or not, by the processor. JAX makes weights of 32 bits where
    it is told of float64 after the model was built.
    """
    names = (
        "KERAS_BACKEND",
        *(("TF_ENABLE_ONEDNN_OPTS",) if keras_backend == "tensorflow" else ()),
    )
    values = variables(keras_backend)
    more = {"JAX_ENABLE_X64": "1"} if keras_backend == "jax" else {}
    return {name: values[name] for name in names} | more


def _assignments(environment: dict[str, str]) -> str:
    return "\n".join(f'os.environ["{name}"] = "{value}"' for name, value in environment.items())


def version_lines(backend: str | None, converter: Converter | None) -> str:
    """Names and versions of the packages of a backend's library and of a converter."""
    found = {} if converter is None else converter.versions()
    if backend is not None:
        found |= versions_of(library_of(backend))
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def tolerated(
    reference: Sequence[NDArray[Any]],
    of: Tolerance,
    spreads: Sequence[float],
    probes: Probes | None = None,
) -> list[NDArray[np.float64]]:
    """The tolerated deviation of each element of each output; infinity where nothing decides."""
    pairs = enumerate(zip(reference, spreads, strict=True))
    return [bounds(at, r, s, of, probes) for at, (r, s) in pairs]


_HEAD = '''"""{title}

Seen with {versions}.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys
{more}
{begin}

{environment}

import keras
import numpy as np
'''
