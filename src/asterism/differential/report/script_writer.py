"""Writing ``repro.py``: what shows a finding, in the words of the library, and decides.

It is the text that the worker ran, with the simplest numbers that still show the finding. It prints
what is expected and what comes, and exits 1 while the bug lives.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import (
    FLOAT64,
    converter_of,
    library_of,
    option_of,
    plugin_of,
    under_test,
)
from asterism.differential.adapters.environments import versions_of
from asterism.differential.adapters.library import CONVERTERS, FileLibrary
from asterism.differential.engine.inputs import OUTSIDE, compared_nodes, sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import ODD_REFERENCE, OUTSIDE_DIFFERS, Finding
from asterism.differential.oracle.oracle import standard_of
from asterism.differential.oracle.outside import allowance, expected_outside
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.computed_references import eager_reference, onnx_reference
from asterism.differential.report.decisions import Right, comparing, failing
from asterism.differential.report.file_scripts import write_file_script
from asterism.differential.report.model_text import Layers, with_changes
from asterism.differential.report.numbers import (
    Numbers,
    any_numbers,
    literal_numbers,
    simplest,
)
from asterism.differential.report.onnx_text import onnx_text, recounted
from asterism.differential.report.program_text import (
    Program,
    Runner,
    keras_program,
    onnx_program,
)
from asterism.differential.triage.ablation import with_dtype
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import write_weights
from asterism.memo.graphs.weights import NamedArray, Stored
from asterism.memo.universe.tensors import Config

#: The script.
REPRO = "repro.py"

#: What the script of a hang waits for, in seconds.
PATIENCE = 60

#: Kinds of scripts, the most readable first: a runtime's on an ONNX text, one with Keras that
#: computes what it expects, one with simple numbers, one with all numbers.
KINDS = NATIVE, COMPUTED, SHORT, WHOLE = "native", "computed", "short", "whole"

Arrays = Sequence[NDArray[Any]]


@dataclass
class _Case:
    """What scripts of one finding are made of; workers are asked once for each.

    Args:
        layers: what Keras says of each layer.
        known: the numbers with which it was seen.
        run: what Keras says of each layer as the finding's backend runs it.
        simple: the simplest numbers that show it, once they are looked for.
        outputs: by whether the numbers are the simple ones.
    """

    layers: Layers
    known: Numbers
    run: Layers
    simple: Numbers | None = None
    outputs: dict[bool, Right] = field(default_factory=dict)


class ScriptWriter:
    """Writes scripts of unique findings.

    Args:
        worker_pool: started workers.
        judging: tolerances.
        seed: of the inputs.
        stored: arrays that nodes may name.
    """

    def __init__(
        self, worker_pool: WorkerPool, judging: JudgeParams, seed: int, stored: Stored
    ) -> None:
        self._worker_pool = worker_pool
        self._judging = judging
        self._seed = seed
        self._stored = stored
        self._cases: dict[tuple[str, str], _Case] = {}

    def write(
        self, found: UniqueFinding, folder: Path, kinds: Sequence[str] = KINDS
    ) -> tuple[str, ...]:
        """Write the script of a finding into a folder, of the first kind that there is.

        What must run before in the same process is in whole scripts only.

        Args:
            found: the finding.
            folder: of the finding.
            kinds: those of :data:`KINDS` that are left to try, the whole one last.

        Returns:
            The kinds that are left after that one.
        """
        case = self._case(found)
        if self._in_its_environment(found, case, folder):
            return ()
        for at, kind in enumerate(kinds):
            if found.before and kind != WHOLE:
                continue
            script = self._script(found, case, kind)
            if script is not None:
                (folder / REPRO).write_text(script, encoding="utf-8")
                return tuple(kinds[at + 1 :])
        return ()

    def _script(self, found: UniqueFinding, case: _Case, kind: str) -> str | None:
        """The text of a script of one kind; None where there is none of that kind."""
        finding = found.finding
        simple = kind != WHOLE
        typed, values = _as_it_is_run(found, self._simple(found, case) if simple else case.known)
        runner, reference = Runner.of(finding.backends), ""
        distribution = next(iter(finding.distributions), "")
        if kind == NATIVE:
            made = self._native(found, case, runner, typed, values)
            if made is None:
                return None
            program, reference = made
        else:
            program = keras_program(runner, typed.graph, distribution, case.run, values)
        if kind == COMPUTED and not (reference := eager_reference(found, runner)):
            return None
        before = [self._program(task) for task in found.before]
        right = self._outputs(found, case, simple=simple)
        if right is None:
            lines = failing(finding, program, _wanted(found))
        else:
            nodes = compared_nodes(typed.graph, finding.distributions)
            dtypes = [typed.graph.tensors[i].dtype for i in nodes] if kind != NATIVE else []
            lines = comparing(program, replace(right, dtypes=dtypes), reference)
        return program.script(found.signature, runner.versions, lines, before)

    def _case(self, found: UniqueFinding) -> _Case:
        key = found.signature, json.dumps(found.graph.to_json(), sort_keys=True)
        if key not in self._cases:
            graph, finding = found.graph, found.finding
            distribution = finding.distributions[0] if finding.distributions else "normal"
            inputs = sample_inputs(graph, self._seed, finding.model, distribution)
            layers = self._described(graph, found.changed)
            known = literal_numbers(graph, self._stored, layers, inputs)
            typed, _ = _as_it_is_run(found, known)
            run = layers if typed is found else self._described(typed.graph, found.changed)
            self._cases[key] = _Case(layers, known, run)
        return self._cases[key]

    def _described(self, graph: Graph, changed: Config) -> Layers:
        """What Keras says of each layer, some of whose parameters may have other values."""
        if not changed:
            return self._worker_pool.described(graph)
        layers = self._worker_pool.described(graph, changed)
        if not layers:  # where Keras rejects it, what it says of the valid one
            valid = self._worker_pool.described(graph)
            layers = {i: replace(one, variables=[]) for i, one in valid.items()}
        return with_changes(graph, layers, changed)

    def _simple(self, found: UniqueFinding, case: _Case) -> Numbers:
        if case.simple is None and found.changed:  # whether it is rejected depends on no number
            differs = found.finding.symptom == OUTSIDE_DIFFERS
            case.simple = case.known if differs else any_numbers(case.known)
        if case.simple is None:
            show = Reproduction(self._worker_pool, self._judging, self._seed, PATIENCE)
            case.simple = simplest(show, found.graph, found.finding, case.known, case.layers)
        return case.simple

    def _program(self, task: Task) -> Program:
        """A task of one backend and one kind of inputs as a program."""
        graph, backends = task.graph, task.backends
        assert isinstance(graph, Graph) and backends is not None
        ((distribution, inputs),) = task.inputs.items()
        layers = self._described(graph, task.changed)
        numbers = literal_numbers(graph, self._stored, layers, inputs)
        if not under_test(backends):
            graph, numbers = with_dtype(graph, "float64"), _in_float64(numbers)
        return keras_program(Runner.of(backends), graph, distribution, layers, numbers)

    def _native(
        self,
        found: UniqueFinding,
        case: _Case,
        runner: Runner,
        typed: UniqueFinding,
        values: Numbers,
    ) -> tuple[Program, str] | None:
        """What a runtime does without Keras, and what the script computes as right, if it does."""
        if found.finding.question or found.changed:  # no runtime is to blame
            return None
        converter = _blamed_reader_of(found.finding)
        text = self._converted(found, case, converter) if converter else None
        if text is None:
            return None
        kind = next(iter(found.finding.distributions), "")
        right = self._outputs(found, case, simple=True)
        reference = onnx_reference(text, values.inputs, right)
        return onnx_program(runner, text, kind, values.inputs), reference

    def _converted(self, found: UniqueFinding, case: _Case, converter: str) -> str | None:
        """The text of the file that a runtime reads; None where it is no short one."""
        typed, values = _as_it_is_run(found, self._simple(found, case))
        graph, stored = values.stored(typed.graph, case.layers)
        given = {d: [a.values for a in values.inputs] for d in found.finding.distributions[:1]}
        with _weights_of(stored) as weights:
            task = Task(found.finding.model, graph, given, weights=weights)
            content = self._worker_pool.converted(task, converter)
        text = onnx_text(content) if isinstance(content, bytes) else None
        return recounted(text) if text is not None else None

    def _in_its_environment(self, found: UniqueFinding, case: _Case, folder: Path) -> bool:
        """Write the script with the model's file beside it, if that is how it can run.

        A library's own environment has no converter. It is not so where the library is in this one,
        reads no file, or the converter makes none.
        """
        finding = found.finding
        library = own_environment(finding)
        if library is None:
            return False
        backend = next((b for b in finding.backends if library_of(b) == library), "")
        plugin = plugin_of(library)()
        source = plugin.source(option_of(backend))
        if source is None or not isinstance(plugin, FileLibrary):
            return False
        task = Task(finding.model, found.graph, {}, changed=found.changed)
        content = self._worker_pool.converted(task, source)
        if not isinstance(content, bytes):
            return False
        said = self._outputs(found, case, simple=False)
        dtypes = [found.graph.tensors[i].dtype for i in found.graph.outputs]
        right = replace(said, dtypes=dtypes) if said is not None else None
        inputs = [array.values for array in case.known.inputs]
        facts = found.signature, backend, content, inputs, right, finding
        write_file_script(folder / REPRO, *facts)
        return True

    def _outputs(self, found: UniqueFinding, case: _Case, *, simple: bool) -> Right | None:
        """What is right, what the backend gives, and what is tolerated; None of a failure."""
        if found.finding.symptom == OUTSIDE_DIFFERS:
            return self._of_others(found, case)
        if not found.finding.by_values:
            return None
        numbers = self._simple(found, case) if simple else case.known
        simple = numbers is not case.known
        if simple not in case.outputs:
            case.outputs[simple] = self._run(found, numbers, case.layers)
        return case.outputs[simple]

    def _of_others(self, found: UniqueFinding, case: _Case) -> Right:
        """What another library gives of an invalid configuration, and what the one to blame."""
        finding = found.finding
        inputs = {OUTSIDE: [array.values for array in case.known.inputs]}
        backends = (finding.agreeing[0], finding.backends[0])
        task = Task(finding.model, found.graph, inputs, backends=backends, changed=found.changed)
        given = [self._worker_pool.run(task).outputs.get(b, {}).get(OUTSIDE, []) for b in backends]
        right = [array.astype(np.float64) for array in given[0]]
        return Right(right, given[1], [np.full(a.shape, allowance(a)) for a in right])

    def _run(
        self,
        found: UniqueFinding,
        numbers: Numbers,
        layers: Layers,
    ) -> Right:
        finding = found.finding
        graph, stored = numbers.stored(found.graph, layers)
        distribution = finding.distributions[0]
        backends = [r for r in finding.backends[:1] if r not in CONVERTERS]
        given = {distribution: [array.values for array in numbers.inputs]}
        wanted = tuple(dict.fromkeys((*FLOAT64, *backends)))
        with _weights_of(stored) as weights:
            task = Task(finding.model, graph, given, backends=wanted, weights=weights)
            result = self._worker_pool.run(task)
        standard = standard_of(graph, result, distribution, self._judging)
        assert standard is not None
        allowed = standard.allowed(next(iter(backends), ""))
        actual = result.outputs.get(backends[0], {}).get(distribution, []) if backends else []
        return Right(standard.expected, actual, allowed)


@contextmanager
def _weights_of(stored: dict[str, list[NamedArray]]) -> Iterator[Path]:
    """A file of arrays with a name of its own: a worker reads a file once, and keeps it."""
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        write_weights(weights, stored)
        yield weights


def _blamed_reader_of(finding: Finding) -> str | None:
    """The converter whose ONNX file a runtime is to blame for; None for all other findings."""
    backend = finding.backends[0]
    converter = None if backend in CONVERTERS else converter_of(backend)
    if converter is None or finding.library != library_of(backend):
        return None
    return converter if CONVERTERS[converter].suffix == ".onnx" else None


def _as_it_is_run(found: UniqueFinding, numbers: Numbers) -> tuple[UniqueFinding, Numbers]:
    """The model and the inputs as the finding's backend has them: a reference's are float64."""
    if found.finding.symptom != ODD_REFERENCE:
        return found, numbers
    return replace(found, graph=with_dtype(found.graph, "float64")), _in_float64(numbers)


def _in_float64(numbers: Numbers) -> Numbers:
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


def _wanted(found: UniqueFinding) -> str:
    if found.changed:
        return expected_outside(found.finding)
    return "it runs"
