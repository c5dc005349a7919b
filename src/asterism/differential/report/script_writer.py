"""Writing ``repro.py``: what shows a finding, in the words of the library, and decides.

It is the text that the worker ran, with the simplest numbers that still show the finding. It prints
what is expected and what comes, and exits 1 while the bug lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from asterism.differential.adapters.backend_names import (
    FLOAT64,
    converter_of,
    library_of,
    option_of,
    plugin_of,
)
from asterism.differential.adapters.environments import versions_of
from asterism.differential.adapters.library import CONVERTERS, FileLibrary
from asterism.differential.engine.inputs import OUTSIDE, compared_nodes, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.oracle.finding import ODD_REFERENCE, OUTSIDE_DIFFERS, Finding
from asterism.differential.oracle.invalid_configurations import (
    describe_expected_rejection,
    make_invalid_configuration_judge,
)
from asterism.differential.oracle.oracle import judge_of
from asterism.differential.report.decisions import ExpectedOutputs, ScriptDecision, compare_outputs
from asterism.differential.report.model_text import (
    Layers,
    describe_changed_layers,
    onnx_reference,
    onnx_text,
    renumber_names,
)
from asterism.differential.report.numbers import (
    FilledNumbers,
    find_simplest_numbers,
    literal_numbers,
    placeholder_numbers,
)
from asterism.differential.report.program_text import (
    Runner,
    keras_program,
    onnx_program,
    write_file_script,
)
from asterism.differential.shrinking.reproduction import Reproduction, with_dtype
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import weights_file
from asterism.memo.graphs.weights import Stored
from asterism.memo.universe.tensors import Config

#: The script.
REPRO = "repro.py"

#: What the script of a hang waits for, in seconds.
PATIENCE = 60

#: Kinds of scripts, the most readable first: a runtime's on an ONNX text, one with Keras that
#: computes what it expects, one with simple numbers, one with all numbers.
KINDS = NATIVE, COMPUTED, SHORT, WHOLE = "native", "computed", "short", "whole"


class ScriptWriter:
    """Writes scripts of a finding; workers are asked once for all that they are made of.

    The model and its inputs are those of the finding's backend: a reference's are float64.

    Args:
        found: the finding.
        show: asks workers whether a model shows it.
        stored: arrays that nodes may name.
    """

    def __init__(self, found: UniqueFinding, show: Reproduction, stored: Stored) -> None:
        self._found, self._finding = found, found.finding
        self._show, self._stored = replace(show, hang_seconds=PATIENCE), stored
        self._pool = show.worker_pool
        self._kind = next(iter(self._finding.distributions), "")
        self._rights: dict[bool, ExpectedOutputs] = {}

    def write(self, folder: Path, kinds: Sequence[str] = KINDS) -> Iterator[str]:
        """Write the scripts, each in place of the one before.

        Args:
            folder: of the finding.
            kinds: those of :data:`KINDS` that are tried.

        Yields:
            The kind of each script, when it is written.
        """
        if self._write_beside_its_file(folder):
            yield WHOLE
            return
        for kind in kinds:
            if (script := self._script(kind)) is not None:
                (folder / REPRO).write_text(script, encoding="utf-8")
                yield kind

    @cached_property
    def _layers(self) -> Layers:
        return self._described(self._found.graph, self._found.changed)

    @cached_property
    def _known(self) -> FilledNumbers:
        """The numbers with which it was seen."""
        graph, kind = self._found.graph, self._kind or "normal"
        inputs = sample_inputs(graph, self._show.seed, self._finding.model, kind)
        return literal_numbers(graph, self._stored, self._layers, inputs)

    @cached_property
    def _simple(self) -> FilledNumbers:
        """The simplest numbers that show it."""
        if self._found.changed:  # whether it is rejected depends on no number
            differs = self._finding.symptom == OUTSIDE_DIFFERS
            return self._known if differs else placeholder_numbers(self._known)
        return find_simplest_numbers(
            self._show, self._found.graph, self._finding, self._known, self._layers
        )

    @cached_property
    def _graph(self) -> Graph:
        """The model as the finding's backend runs it."""
        wide = self._finding.symptom == ODD_REFERENCE
        return with_dtype(self._found.graph, "float64") if wide else self._found.graph

    def _as_run(self, numbers: FilledNumbers) -> FilledNumbers:
        return numbers if self._graph is self._found.graph else _in_float64(numbers)

    def _script(self, kind: str) -> str | None:
        """The text of a script of one kind; None where there is none of that kind."""
        found, finding, graph = self._found, self._finding, self._graph
        numbers = self._known if kind == WHOLE else self._simple
        values, right = self._as_run(numbers), self._right(numbers)
        runner, reference = Runner.of(finding.backends), ""
        if kind == NATIVE:
            text = self._onnx_text(values)
            if text is None:
                return None
            program = onnx_program(runner, text, self._kind, values.inputs)
            reference = onnx_reference(text, values.inputs, right)
        else:
            same = graph is found.graph
            layers = self._layers if same else self._described(graph, found.changed)
            program = keras_program(runner, graph, self._kind, layers, values)
        if kind == COMPUTED and not (reference := eager_reference(found, runner)):
            return None
        if right is not None:
            nodes = compared_nodes(graph, finding.distributions)
            dtypes = [graph.tensors[i].dtype for i in nodes] if kind != NATIVE else []
            decision = compare_outputs(replace(right, dtypes=dtypes), reference)
        else:
            wanted = describe_expected_rejection(finding) if found.changed else "it runs"
            decision = ScriptDecision(wanted, finding=finding)
        return program.script(found.signature, runner.versions, decision)

    def _described(self, graph: Graph, changed: Config) -> Layers:
        """What Keras says of each layer, some of whose parameters may have other values."""
        if not changed:
            return self._pool.described(graph)
        layers = self._pool.described(graph, changed)
        if not layers:  # where Keras rejects it, what it says of the valid one
            valid = self._pool.described(graph)
            layers = {i: replace(one, variables=[]) for i, one in valid.items()}
        return describe_changed_layers(graph, layers, changed)

    def _onnx_text(self, values: FilledNumbers) -> str | None:
        """The text of the file that a runtime is to blame for reading; None of all others."""
        finding = self._finding
        converter = _blamed_reader_of(finding)
        if converter is None or finding.question or self._found.changed:
            return None
        graph, stored = values.stored(self._graph, self._layers)
        given = {d: [a.values for a in values.inputs] for d in finding.distributions[:1]}
        with weights_file(stored) as weights:
            task = Task(finding.model, graph, given, weights=weights)
            content = self._pool.converted(task, converter)
        text = onnx_text(content) if isinstance(content, bytes) else None
        return renumber_names(text) if text is not None else None

    def _write_beside_its_file(self, folder: Path) -> bool:
        """Write the script with the model's file beside it, if that is how it can run.

        A library's own environment has no converter. It is not so where the library is in this one,
        reads no file, or the converter makes none.
        """
        finding, graph = self._finding, self._found.graph
        library = own_environment(finding)
        backend = next((b for b in finding.backends if library_of(b) == library), "")
        plugin = plugin_of(library)() if library is not None else None
        source = plugin.source(option_of(backend)) if plugin is not None else None
        if source is None or not isinstance(plugin, FileLibrary):
            return False
        task = Task(finding.model, graph, {}, changed=self._found.changed)
        content = self._pool.converted(task, source)
        if not isinstance(content, bytes):
            return False
        right = self._right(self._known)
        if right is not None:
            right = replace(right, dtypes=[graph.tensors[i].dtype for i in graph.outputs])
        inputs = [array.values for array in self._known.inputs]
        write_file_script(
            folder / REPRO,
            title=self._found.signature,
            backend=backend,
            content=content,
            inputs=inputs,
            right=right,
            finding=finding,
        )
        return True

    def _right(self, numbers: FilledNumbers) -> ExpectedOutputs | None:
        """What is right, what the backend gives, and what is tolerated; None of a failure."""
        if self._finding.symptom == OUTSIDE_DIFFERS:
            return self._of_others()
        if not self._finding.by_values:
            return None
        simple = numbers is not self._known
        if simple not in self._rights:
            self._rights[simple] = self._run(numbers)
        return self._rights[simple]

    def _of_others(self) -> ExpectedOutputs:
        """What another library gives of an invalid configuration, and what the one to blame."""
        found, finding = self._found, self._finding
        inputs = {OUTSIDE: [array.values for array in self._known.inputs]}
        backends = (finding.agreeing[0], finding.backends[0])
        task = Task(finding.model, found.graph, inputs, backends=backends, changed=found.changed)
        result = self._pool.run(task)
        for backend in backends:  # one that is killed from outside gives nothing
            result.outputs.setdefault(backend, {OUTSIDE: []})
        standard = make_invalid_configuration_judge(result, found.graph, self._show.judging).beside(
            *backends
        )
        right = [array.astype(np.float64) for array in standard.expected]
        actual = result.outputs[backends[1]][OUTSIDE]
        return ExpectedOutputs(right, actual, standard.allowed(backends[1]))

    def _run(self, numbers: FilledNumbers) -> ExpectedOutputs:
        """What the references and the backend give of the model with these numbers."""
        finding = self._finding
        graph, stored = numbers.stored(self._found.graph, self._layers)
        backend = next((b for b in finding.backends[:1] if b not in CONVERTERS), "")
        given = {self._kind: [array.values for array in numbers.inputs]}
        wanted = tuple(dict.fromkeys(filter(None, (*FLOAT64, backend))))
        with weights_file(stored) as weights:
            task = Task(finding.model, graph, given, backends=wanted, weights=weights)
            result = self._pool.run(task)
        standard = judge_of(graph, result, self._kind, self._show.judging).standard
        assert standard is not None
        actual = result.outputs.get(backend, {}).get(self._kind, [])
        return ExpectedOutputs(standard.expected, actual, standard.allowed(backend))


def _blamed_reader_of(finding: Finding) -> str | None:
    """The converter whose ONNX file a runtime is to blame for; None for all other findings."""
    backend = finding.backends[0]
    converter = None if backend in CONVERTERS else converter_of(backend)
    if converter is None or finding.library != library_of(backend):
        return None
    return converter if CONVERTERS[converter].suffix == ".onnx" else None


def _in_float64(numbers: FilledNumbers) -> FilledNumbers:
    """The same with floating inputs of float64."""
    inputs = tuple(
        replace(a, values=a.values.astype("float64"), source=f"{a.source}.astype('float64')")
        if a.values.dtype.kind == "f"
        else a
        for a in numbers.inputs
    )
    return replace(numbers, inputs=inputs)


def own_environment(finding: Finding) -> str | None:
    """The library with its environment that a finding's script runs in; None for this Python."""
    first = next((b for b in finding.backends if b not in CONVERTERS), "")
    return library_of(first) if "@" in library_of(first) else None


def packages_of(library: str) -> str:
    """The packages of a library's environment that it names, with their versions."""
    return ", ".join(f"{package} {v}" for package, v in versions_of(library).items())


def eager_reference(found: UniqueFinding, runner: Runner) -> str:
    """Lines that compute what is right by an eager run, where that is right; or nothing."""
    finding = found.finding
    backend = {"torch": "pytorch"}.get(runner.keras_backend, runner.keras_backend)
    eager = f"{backend}:eager"
    plain = not finding.question and finding.distributions[:1] not in (("split",), ("lengthened",))
    if not plain or not finding.by_values or eager not in finding.agreeing:
        return ""
    given = "inputs" if len(found.graph.inputs) > 1 else "inputs[0]"
    called = f"keras.tree.flatten(model({given}, training=False))"
    return f"expected = [keras.ops.convert_to_numpy(y) for y in {called}]  # eagerly"
