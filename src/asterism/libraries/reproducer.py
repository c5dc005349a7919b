"""Writing ``repro.py``: a finding as a script that needs the libraries concerned and nothing else.

It builds the minimal model inline, with its weights and inputs as numbers, prints what was
expected and what came, and exits 1 while the bug lives.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.library import CONVERTERS, LIBRARIES, Library
from asterism.libraries.oracle import compared_nodes
from asterism.libraries.triage import UniqueFinding
from asterism.memo.graph import INPUT, Graph
from asterism.memo.keras_arguments import TWO_ARGUMENTS, arguments
from asterism.memo.spec import universe
from asterism.memo.weights import Stored, Variable, layer_weights

#: A reproducer runs alone on a machine that may be busy.
_SECONDS = 300
#: What the reproducer of a hang waits for, in seconds, and of a memory blow-up allows.
_PATIENCE = 60
_MEMORY_MB = 3000


def script_of(
    found: UniqueFinding,
    stored: Stored,
    shapes: dict[int, list[Variable]],
    inputs: Sequence[NDArray[Any]],
    expected: Sequence[NDArray[Any]],
    tolerances: Sequence[float],
) -> str:
    """The text of ``repro.py``.

    Args:
        found: the unique finding.
        stored: arrays that nodes may name.
        shapes: name and shape of each weight of each layer, by node.
        inputs: the batch that shows it.
        expected: outputs of the float64 reference; empty where something failed.
        tolerances: largest tolerated deviation of each output.
    """
    route = next((r for r in found.finding.routes if ":" in r), None)
    library = LIBRARIES[route.partition(":")[0]]() if route is not None else None
    option = route.partition(":")[2] if route is not None else ""
    source = library.source(option) if library is not None else found.finding.routes[0]
    converter = CONVERTERS[source]() if source is not None else None
    backend = converter.keras_backend if converter is not None else None
    backend = backend or (library.keras_backend if library is not None else "tensorflow")
    compared = compared_nodes(found.graph, found.finding.draws)
    steps = ["model = build()"]
    if converter is not None:
        steps.append("model = convert(model)")
    steps.append("outputs = run(model, INPUTS)" if library is not None else "outputs = []")
    parts = [
        _HEAD.format(
            title=found.signature.replace('"""', "'''"),
            backend=backend,
            versions=_version_lines(library, converter),
        ),
        _build(found.graph, stored, shapes),
        converter.script() if converter is not None else "",
        _running(library, option, gradients=found.finding.of_gradients),
        f"\nINPUTS = {_arrays(inputs)}\n",
        f"EXPECTED = {_arrays(expected)}  # a float64 run\n" if expected else "",
        f"TOLERANCES = {[float(f'{t:.3g}') for t in tolerances]}\n" if expected else "",
        f"DTYPES = {[found.graph.tensors[i].dtype for i in compared]}\n" if expected else "",
    ]
    template = _CHECK_VALUES if expected else _CHECK_RUNS
    if found.finding.deadly:
        template = _CHECK_LIVES.format(seconds=_PATIENCE, megabytes=_MEMORY_MB)
    body = "".join(parts) + template.replace("STEPS", "\n    ".join(steps)).replace(
        "TRIED", "\n        ".join(steps)
    )
    return body


def exit_status(script: Path) -> int:
    """How a fresh process that runs a reproducer ends: 1 is the bug, 124 is too late."""
    with tempfile.TemporaryDirectory() as folder:  # the files that it converts models to
        try:
            done = subprocess.run(
                [sys.executable, str(script.resolve())],
                cwd=folder,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def _running(library: Library | None, option: str, *, gradients: bool) -> str:
    if library is None:
        return ""
    return library.gradient_script(option) if gradients else library.script(option)


def _version_lines(*plugins: Any) -> str:
    found: dict[str, str] = {}
    for plugin in plugins:
        if plugin is not None:
            found |= plugin.versions()
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def _build(graph: Graph, stored: Stored, shapes: dict[int, list[Variable]]) -> str:
    lines = ["", "", "def build():"]
    weights = []
    for identity, node in graph.nodes.items():
        if node.type == INPUT:
            shape, dtype = tuple(node.config["shape"]), node.config["dtype"]
            lines.append(
                f"    n{identity} = keras.Input({shape}, dtype={dtype!r}, name='n{identity}_input')"
            )
            continue
        lines.append(f"    layer{identity} = {_layer(graph, identity)}")
        sources = ", ".join(f"n{i}" for i in node.inputs)
        many = len(node.inputs) > 1 and node.type not in TWO_ARGUMENTS
        lines.append(f"    n{identity} = layer{identity}({f'[{sources}]' if many else sources})")
        if shapes.get(identity):
            arrays = layer_weights(node, shapes[identity], stored)
            weights.append(f"    layer{identity}.set_weights({_arrays(arrays)})")
    given = ", ".join(f"n{i}" for i in graph.inputs)
    results = ", ".join(f"n{i}" for i in graph.outputs)
    one_in, one_out = len(graph.inputs) == 1, len(graph.outputs) == 1
    lines += weights
    lines.append(
        f"    return keras.Model({given if one_in else f'[{given}]'}, "
        f"{results if one_out else f'[{results}]'})"
    )
    return "\n".join(lines) + "\n\n"


def _layer(graph: Graph, identity: int) -> str:
    node = graph.nodes[identity]
    config = arguments(graph, node)
    if any(isinstance(v, dict) for v in config.values()):
        return f"keras.layers.{node.type}.from_config({config!r})"
    defaults = {p.name: p.default for p in universe()[node.type].parameters}
    shown = {
        name: value
        for name, value in config.items()
        if value is not None
        and (name in _REQUIRED or defaults.get(name) != node.config.get(name))
        and (name, value) != ("dtype", "float32")
    }
    return f"keras.layers.{node.type}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


#: Arguments without a default in Keras' own constructors.
_REQUIRED = frozenset(
    {"filters", "kernel_size", "units", "pool_size", "output_size", "rate", "stddev", "n", "dims"}
    | {"target_shape", "equation", "output_shape", "input_dim", "output_dim", "num_heads"}
    | {"key_dim", "head_dim", "num_query_heads", "num_key_value_heads", "height", "width"}
    | {"scale", "axes", "groups", "activation", "cropping", "padding", "size", "strides"}
)


def _arrays(arrays: Sequence[NDArray[Any]]) -> str:
    return "[" + ", ".join(map(_array, arrays)) + "]"


def _array(array: NDArray[Any]) -> str:
    if array.size == 0:
        return f"np.zeros({array.shape}, {str(array.dtype)!r})"
    numbers = repr(array.reshape(-1).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({numbers}, {str(array.dtype)!r}).reshape({array.shape})"


def tolerated(reference: Sequence[NDArray[Any]], of: Any, spreads: Sequence[float]) -> list[float]:
    """The largest tolerated deviation of each output."""
    return [
        float(np.max(of.of(r, s))) if r.size else 0.0
        for r, s in zip(reference, spreads, strict=True)
    ]


_HEAD = '''"""{title}

Seen with {versions}.
Exits 1 while the bug lives, 0 when it is gone.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "{backend}"

import keras
import numpy as np
'''

_CHECK_VALUES = """

def main():
    STEPS
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        wrong |= str(actual.dtype) != dtype
        if actual.shape != expected.shape:
            wrong = True
            continue
        finite = np.isfinite(expected) & np.isfinite(actual)
        wrong |= bool((np.isnan(expected) != np.isnan(actual)).any())
        wrong |= bool((np.isinf(expected) != np.isinf(actual)).any())
        difference = np.abs(np.where(finite, actual.astype("float64") - expected, 0.0))
        print("largest difference", difference.max(initial=0.0), "tolerated", tolerance)
        wrong |= bool(difference.max(initial=0.0) > tolerance)
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
"""

_CHECK_RUNS = """

def main():
    print("expected: the model runs")
    try:
        TRIED
    except Exception as error:
        print("actual  :", type(error).__name__, error)
        print("the bug lives")
        return 1
    print("actual  : it runs; the bug is gone")
    return 0


sys.exit(main())
"""

_CHECK_LIVES = """

def child():
    # More than this on top of what the imports took is a blow-up.
    with open("/proc/self/status") as status:
        taken = next(int(line.split()[1]) for line in status if line.startswith("VmData"))
    limit = taken * 1024 + {megabytes} * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    STEPS


def main():
    import subprocess

    print("expected: the model runs")
    try:
        done = subprocess.run([sys.executable, __file__, "child"], timeout={seconds})
    except subprocess.TimeoutExpired:
        print("actual  : it still ran after {seconds} seconds\\nthe bug lives")
        return 1
    if done.returncode != 0:
        print("actual  : the process ended with status", done.returncode, "\\nthe bug lives")
        return 1
    print("actual  : it runs; the bug is gone")
    return 0


if "child" in sys.argv:
    import resource

    child()
else:
    sys.exit(main())
"""
