"""The text of a program: a model, and the very lines by which a worker runs it in a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import write_arrays
from asterism.differential.adapters.backend_names import library_of, option_of, plugin_of
from asterism.differential.adapters.code import BackendCode, fill_given, source_of
from asterism.differential.adapters.environments import versions_of
from asterism.differential.adapters.fixed_draws import DRAWN, fixed
from asterism.differential.adapters.library import CONVERTERS, Converter, FileLibrary, Library
from asterism.differential.engine.inputs import random_training
from asterism.differential.engine.worker_environment import worker_variables
from asterism.differential.oracle.finding import Finding
from asterism.differential.report.decisions import ExpectedOutputs, ScriptDecision, compare_outputs
from asterism.differential.report.model_text import Layers, model_lines
from asterism.differential.report.numbers import ArrayExpression, FilledNumbers
from asterism.differential.report.texts import in_docstring, render_template
from asterism.memo.graphs.graph import Graph


@dataclass(frozen=True)
class Runner:
    """The library that runs a model, perhaps on a converter's file; or a converter alone.

    Args:
        backend: ``library:option``; None for a converter alone.
        library: the library of the backend.
        converter: whose file it reads; None where it runs the Keras model.
    """

    backend: str | None
    library: Library | None
    converter: Converter | None

    @classmethod
    def of(cls, backends: Sequence[str]) -> Runner:
        """The first backend; or the converter, where nothing else is named."""
        backend = next((r for r in backends if r not in CONVERTERS), None)
        if backend is None:
            return cls(None, None, CONVERTERS[backends[0]]())
        library = plugin_of(library_of(backend))()
        source = library.source(option_of(backend))
        return cls(backend, library, CONVERTERS[source]() if source is not None else None)

    @property
    def keras_backend(self) -> str:
        """What Keras runs on where the model is built: the converter's, or the library's own."""
        of_converter = self.converter.keras_backend if self.converter is not None else None
        of_library = self.library.keras_backend if self.library is not None else None
        return of_converter or of_library or "tensorflow"

    @property
    def versions(self) -> str:
        """Names and versions of the packages of the library and of the converter."""
        found = {} if self.converter is None else self.converter.versions()
        if self.backend is not None:
            found |= versions_of(library_of(self.backend))
        return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))

    def lines(self, inputs: int, distribution: str) -> BackendCode:
        """The library's imports and lines for this kind of inputs.

        Args:
            inputs: how many the model has.
            distribution: kind of the inputs.
        """
        if self.library is None or self.backend is None:
            return BackendCode(call="outputs = []")
        option = option_of(self.backend)
        code = self.library.code(option)
        call = self.library.lines(option, distribution)
        return BackendCode(code.imports, fill_given(code.prepare, inputs), fill_given(call, inputs))


@dataclass(frozen=True)
class ScriptProgram:
    """A model and how it is run.

    Args:
        imports: lines at the top.
        lines: they set ``inputs``, ``model`` or ``path``, and ``outputs``.
        environment: variables that must be set before anything is imported.
    """

    imports: tuple[str, ...]
    lines: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The lines of the program."""
        return "\n".join(self.lines)

    def script(self, title: str, versions: str, decision: ScriptDecision) -> str:
        """The text of its script.

        Args:
            title: what it is about.
            versions: with which that was seen.
            decision: how the script decides.
        """
        settings = ", ".join(f"{name}={value!r}" for name, value in self.environment.items())
        first = ["import os", f"os.environ.update({settings})", "import keras"] if settings else []
        return render_template(
            "repro.py.j2",
            title=in_docstring(title),
            versions=in_docstring(versions),
            imports=dict.fromkeys([*first, "import sys", "import numpy as np", *self.imports]),
            program=self,
            decision=decision,
        )


def keras_program(
    runner: Runner, graph: Graph, distribution: str, layers: Layers, numbers: FilledNumbers
) -> ScriptProgram:
    """What a worker does with a generated model.

    Args:
        runner: who runs it.
        graph: the model.
        distribution: the kind of its inputs, which says what is done.
        layers: what Keras says of each layer, by node; empty where it rejects the model.
        numbers: inputs and weights.
    """
    model = model_lines(graph, layers, numbers, distribution)
    imports: list[str] = []
    runs: list[str] = []
    if runner.converter is not None:
        code = runner.converter.code()
        path = f'path = "model{runner.converter.suffix}"'
        batch = ["batch = len(inputs[0])"] if "batch or" in code.prepare else []
        runs += [path, *batch, code.prepare]
        imports += code.imports
    if random_training(graph, (distribution,)):
        draws = DRAWN[runner.keras_backend]
        runs += ["", source_of(draws, fixed), ""]
        runs += [f"for owner, name, value in fixed({draws.__name__}, []):"]
        runs += ["    setattr(owner, name, value)"]
    code = runner.lines(len(graph.inputs), distribution)
    runs += filter(None, (code.prepare, code.call))
    imports += code.imports
    return ScriptProgram(tuple(imports), (*model, *runs), _environment(runner.keras_backend))


def onnx_program(
    runner: Runner, text: str, distribution: str, inputs: Sequence[ArrayExpression]
) -> ScriptProgram:
    """What a runtime does with an ONNX model, without Keras.

    Args:
        runner: the runtime.
        text: the model, see :func:`asterism.differential.report.model_text.onnx_text`.
        distribution: the kind of its inputs.
        inputs: the batch.
    """
    code = runner.lines(len(inputs), distribution)
    lines = (
        f'MODEL = """{text}"""',
        f"inputs = [{', '.join(array.source for array in inputs)}]",
        'path = "model.onnx"',
        "onnx.save(onnx.parser.parse_model(MODEL), path)",
        *filter(None, (code.prepare, code.call)),
    )
    return ScriptProgram(("import onnx", "import onnx.parser", *code.imports), lines)


def _environment(keras_backend: str) -> dict[str, str]:
    """What decides whose kernels run, and in which precision, before anything is imported.

    TensorFlow takes oneDNN's kernels or not, by the processor. JAX makes weights of 32 bits where
    it is told of float64 after the model was built.
    """
    values = worker_variables(keras_backend)
    names = ["KERAS_BACKEND"]
    names += ["TF_ENABLE_ONEDNN_OPTS"] if keras_backend == "tensorflow" else []
    more = {"JAX_ENABLE_X64": "1"} if keras_backend == "jax" else {}
    return {name: values[name] for name in names} | more


def write_file_script(
    script: Path,
    title: str,
    backend: str,
    content: bytes,
    inputs: Sequence[NDArray[Any]],
    right: ExpectedOutputs | None,
    finding: Finding,
) -> None:
    """Write a script that exits 1 where a version shows the finding, its model and its arrays.

    The model lies beside it as a file, with the inputs and what is expected. So the script needs
    one library and NumPy, in whatever version.

    Args:
        script: its file.
        title: what the script is about, one line.
        backend: the backend that is to blame.
        content: the content of the model's file.
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
    decision = ScriptDecision("it runs", finding=finding)
    if right is not None:
        count = len(right.expected)
        reference = f'expected = [arrays[f"expected{{n}}"] for n in range({count})]'
        arrays |= {f"expected{n}": array for n, array in enumerate(right.expected)}
        decision = compare_outputs(right, reference)
    script.write_text(program.script(title, runner.versions, decision), encoding="utf-8")
    (script.parent / f"model{suffix}").write_bytes(runner.library.readable(content, batch))
    write_arrays(script.parent / "arrays.npz", **{n: np.asarray(a) for n, a in arrays.items()})
