"""Writing the two scripts of a finding: the short ``repro.py``, and ``check.py`` that decides."""

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

from asterism.libraries.adapters.backends import (
    FLOAT64,
    converter_of,
    library_of,
    option_of,
    plugin_of,
    under_test,
)
from asterism.libraries.adapters.library import CONVERTERS, FileLibrary
from asterism.libraries.judging.compare import tolerance_for
from asterism.libraries.judging.finding import ODD_REFERENCE, OUTSIDE_DIFFERS, Finding
from asterism.libraries.judging.oracle import probes_of, spreads_of, tolerance_of, vote_of
from asterism.libraries.judging.outside import allowance
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.file_scripts import file_script, own_environment, packages_of
from asterism.libraries.reporting.numbers import (
    Numbers,
    any_numbers,
    literal_numbers,
    simplest,
)
from asterism.libraries.reporting.onnx_text import onnx_text, recounted
from asterism.libraries.reporting.programs import (
    Program,
    Runner,
    as_float64,
    program_of,
    with_changes,
)
from asterism.libraries.reporting.reproducer import script_of, tolerated
from asterism.libraries.reporting.script_checks import PATIENCE
from asterism.libraries.reporting.short_script import native_script, short_script
from asterism.libraries.running.inputs import OUTSIDE, compared_nodes, sample_inputs
from asterism.libraries.running.tasks import LayerDescription, Task
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.libraries.triage.ablation import with_dtype
from asterism.libraries.triage.reproduction import Reproduction
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import write_weights
from asterism.memo.graphs.weights import NamedArray, Stored
from asterism.memo.universe.tensors import Config

#: The short script, and the one that decides.
REPRO, CHECK = "repro.py", "check.py"

#: Kinds of scripts: a runtime's on an ONNX text, a short one with Keras, one with all numbers.
KINDS = NATIVE, SHORT, WHOLE = "native", "short", "whole"

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Outputs:
    """Of one model with some numbers; all empty where the finding is a failure.

    Args:
        expected: of a right float64 reference.
        actual: of the backend to blame, where it gave some.
        tolerances: tolerated deviation of each element of ``expected``.
    """

    expected: Arrays = ()
    actual: Arrays = ()
    tolerances: Arrays = ()


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

    layers: dict[int, LayerDescription]
    known: Numbers
    run: dict[int, LayerDescription]
    simple: Numbers | None = None
    outputs: dict[bool, Outputs] = field(default_factory=dict)


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
        """Write both scripts of a finding into a folder, of the first kind that there is.

        What must run before in the same process is in whole scripts only.

        Args:
            found: the finding.
            folder: of the finding.
            kinds: those of :data:`KINDS` that are left to try, the whole one last.

        Returns:
            The kinds that are left after that one.
        """
        case = self._case(found)
        own = self._in_its_environment(found, case)
        if own is not None:
            _write(folder, own, own)
            return ()
        for at, kind in enumerate(kinds):
            if found.before and kind != WHOLE:
                continue
            scripts = (
                self._whole(found, case)
                if kind == WHOLE
                else self._short(found, case, native=kind == NATIVE)
            )
            if scripts is not None:
                _write(folder, *scripts)
                return tuple(kinds[at + 1 :])
        return ()

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

    def _described(self, graph: Graph, changed: Config) -> dict[int, LayerDescription]:
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

    def _whole(self, found: UniqueFinding, case: _Case) -> tuple[str, str]:
        """The script with all numbers, which also decides."""
        typed, values = _as_it_is_run(found, case.known)
        right = self._outputs(found, case, simple=False)
        given = [array.values for array in values.inputs]
        before = [self._program(task) for task in found.before]
        text = script_of(
            typed,
            self._stored,
            case.run,
            given,
            right.expected,
            right.tolerances,
            before=before,
        )
        return text, text

    def _program(self, task: Task) -> Program:
        """A task of one backend and one kind of inputs as a program."""
        graph, backends = task.graph, task.backends
        assert isinstance(graph, Graph) and backends is not None
        ((distribution, inputs),) = task.inputs.items()
        if not under_test(backends):
            graph, inputs = with_dtype(graph, "float64"), as_float64(inputs)
        layers = self._described(graph, task.changed)
        runner = Runner.of(backends)
        return program_of(runner, graph, distribution, self._stored, layers, inputs)

    def _short(self, found: UniqueFinding, case: _Case, *, native: bool) -> tuple[str, str] | None:
        """A short script and the one that runs it; None where there is none of that kind."""
        converted = ""
        if native and (found.finding.question or found.changed):  # no runtime is to blame
            return None
        if native:
            converter = _blamed_reader_of(found.finding)
            text = self._converted(found, case, converter) if converter else None
            if text is None:
                return None
            converted = text
        typed, values = _as_it_is_run(found, self._simple(found, case))
        right = self._outputs(found, case, simple=True)
        made = (
            native_script(typed, converted, values, right.expected, right.actual)
            if native
            else short_script(typed, case.run, values, right.expected, right.actual)
        )
        if made is None:
            return None
        check = script_of(typed, {}, case.run, [], right.expected, right.tolerances, runs=REPRO)
        return made, check

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

    def _in_its_environment(self, found: UniqueFinding, case: _Case) -> str | None:
        """The script with the model's file, since a library's own environment has no converter.

        None where the library is in this one, reads no file, or the converter makes none.
        """
        finding = found.finding
        library = own_environment(finding)
        if library is None:
            return None
        backend = next((b for b in finding.backends if library_of(b) == library), "")
        plugin = plugin_of(library)()
        source = plugin.source(option_of(backend))
        if source is None or not isinstance(plugin, FileLibrary):
            return None
        task = Task(finding.model, found.graph, {}, changed=found.changed)
        content = self._worker_pool.converted(task, source)
        if not isinstance(content, bytes):
            return None
        said = self._outputs(found, case, simple=False)
        dtypes = [found.graph.tensors[i].dtype for i in found.graph.outputs]
        right = (said.expected, said.tolerances, dtypes) if said.expected else None
        title = f"{found.signature}\n\nSeen with {packages_of(library)}."
        inputs = [array.values for array in case.known.inputs]
        return file_script(title, plugin, option_of(backend), content, inputs, right, finding)

    def _outputs(self, found: UniqueFinding, case: _Case, *, simple: bool) -> Outputs:
        """What is right, what the backend gives, and what is tolerated."""
        if found.finding.symptom == OUTSIDE_DIFFERS:
            return self._of_others(found, case)
        if not found.finding.by_values:
            return Outputs()
        numbers = self._simple(found, case) if simple else case.known
        simple = numbers is not case.known
        if simple not in case.outputs:
            case.outputs[simple] = self._run(found, numbers, case.layers)
        return case.outputs[simple]

    def _of_others(self, found: UniqueFinding, case: _Case) -> Outputs:
        """What another library gives of an invalid configuration, and what the one to blame."""
        finding = found.finding
        inputs = {OUTSIDE: [array.values for array in case.known.inputs]}
        backends = (finding.agreeing[0], finding.backends[0])
        task = Task(finding.model, found.graph, inputs, backends=backends, changed=found.changed)
        given = [self._worker_pool.run(task).outputs.get(b, {}).get(OUTSIDE, []) for b in backends]
        right = [array.astype(np.float64) for array in given[0]]
        return Outputs(right, given[1], [np.full(a.shape, allowance(a)) for a in right])

    def _run(
        self,
        found: UniqueFinding,
        numbers: Numbers,
        layers: dict[int, LayerDescription],
    ) -> Outputs:
        finding = found.finding
        graph, stored = numbers.stored(found.graph, layers)
        distribution = finding.distributions[0]
        backends = [r for r in finding.backends[:1] if r not in CONVERTERS]
        given = {distribution: [array.values for array in numbers.inputs]}
        wanted = tuple(dict.fromkeys((*FLOAT64, *backends)))
        with _weights_of(stored) as weights:
            task = Task(finding.model, graph, given, backends=wanted, weights=weights)
            result = self._worker_pool.run(task)
        compared = compared_nodes(graph, (distribution,))
        said = vote_of(graph, result, distribution, self._judging, compared)
        expected = result.outputs[said.right[0]][distribution]
        bounds = tolerance_of(graph, self._judging)
        bounds = tolerance_for(backends[0], bounds) if backends else bounds
        spreads = spreads_of(result, distribution, bounds) or [0.0] * len(expected)
        probes = probes_of(graph, result, distribution)
        allowed = tolerated(expected, bounds, spreads, probes)
        actual = result.outputs.get(backends[0], {}).get(distribution, []) if backends else []
        return Outputs(expected, actual, allowed)


@contextmanager
def _weights_of(stored: dict[str, list[NamedArray]]) -> Iterator[Path]:
    """A file of arrays with a name of its own: a worker reads a file once, and keeps it."""
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        write_weights(weights, stored)
        yield weights


def _write(folder: Path, script: str, check: str) -> None:
    (folder / REPRO).write_text(script, encoding="utf-8")
    (folder / CHECK).write_text(check, encoding="utf-8")


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
    inputs = tuple(
        replace(a, values=a.values.astype("float64"), source=f"{a.source}.astype('float64')")
        if a.values.dtype.kind == "f"
        else a
        for a in numbers.inputs
    )
    graph = with_dtype(found.graph, "float64")
    return replace(found, graph=graph), replace(numbers, inputs=inputs)
