"""Writing the two scripts of a finding: the short ``repro.py``, and ``check.py`` that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.backends import (
    FLOAT64,
    PERTURBED,
    converter_of,
    library_of,
    option_of,
    plugin_of,
)
from asterism.libraries.adapters.library import CONVERTERS, FileLibrary
from asterism.libraries.judging.compare import spread_of
from asterism.libraries.judging.finding import ODD_REFERENCE
from asterism.libraries.judging.oracle import tolerance_of, vote_of
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.file_scripts import file_script, own_environment, packages_of
from asterism.libraries.reporting.numbers import Numbers, literal_numbers, simplest
from asterism.libraries.reporting.onnx_text import onnx_text
from asterism.libraries.reporting.reproducer import script_of, tolerated
from asterism.libraries.reporting.script_checks import PATIENCE
from asterism.libraries.reporting.short_script import native_script, short_script
from asterism.libraries.running.inputs import compared_nodes, sample_inputs
from asterism.libraries.running.tasks import Task
from asterism.libraries.running.worker_pool import LayerDescription, WorkerPool
from asterism.libraries.triage.ablation import with_dtype
from asterism.libraries.triage.reproduction import Reproduction
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.store import write_weights
from asterism.memo.graphs.weights import Stored

#: The short script, and the one that decides.
REPRO, CHECK = "repro.py", "check.py"

#: Kinds of scripts: a runtime's on an ONNX text, a short one with Keras, one with all numbers.
KINDS = NATIVE, SHORT, WHOLE = "native", "short", "whole"

Arrays = Sequence[NDArray[Any]]


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
        #: The simplest numbers that show a finding, by its signature.
        self._simple: dict[str, Numbers] = {}

    def write(
        self, found: UniqueFinding, folder: Path, kinds: Sequence[str] = KINDS
    ) -> tuple[str, ...]:
        """Write both scripts of a finding into a folder, of the first kind that there is.

        Args:
            found: the finding.
            folder: of the finding.
            kinds: those of :data:`KINDS` that are left to try, the whole one last.

        Returns:
            The kinds that are left after that one.
        """
        graph, finding = found.graph, found.finding
        distribution = finding.distributions[0] if finding.distributions else "normal"
        inputs = sample_inputs(graph, self._seed, finding.model, distribution)
        layers = self._worker_pool.described(graph)
        known = literal_numbers(graph, self._stored, layers, inputs)
        own = self._in_its_environment(found, known, layers, folder)
        if own is not None:
            _write(folder, own, own)
            return ()
        if kinds[0] == KINDS[0]:
            show = Reproduction(self._worker_pool, self._judging, self._seed, PATIENCE)
            self._simple[found.signature] = simplest(show, graph, finding, known, layers)
        for at, kind in enumerate(kinds):
            numbers = known if kind == WHOLE else self._simple[found.signature]
            expected, actual, tolerances = self._outputs(found, numbers, layers, folder)
            typed, values = _as_it_is_run(found, numbers)
            if kind == WHOLE:
                given = [array.values for array in values.inputs]
                text = script_of(typed, self._stored, layers, given, expected, tolerances)
                check = text
            else:
                made = (
                    self._native(typed, values, layers, folder, expected, actual)
                    if kind == NATIVE
                    else short_script(typed, layers, values, expected, actual)
                )
                if made is None:
                    continue
                text = made
                check = script_of(typed, {}, layers, [], expected, tolerances, runs=REPRO)
            _write(folder, text, check)
            return tuple(kinds[at + 1 :])
        return ()

    def _native(
        self,
        found: UniqueFinding,
        numbers: Numbers,
        layers: dict[int, LayerDescription],
        folder: Path,
        expected: Arrays,
        actual: Arrays,
    ) -> str | None:
        """A script on the text of the converted model, where a runtime is to blame for it."""
        finding = found.finding
        backend = finding.backends[0]
        converter = None if backend in CONVERTERS else converter_of(backend)
        if converter is None or finding.library != library_of(backend):
            return None
        if finding.question or finding.resized:
            return None
        if CONVERTERS[converter].suffix != ".onnx":
            return None
        graph, stored = numbers.stored(found.graph, layers)
        weights = folder / "weights.npz"
        write_weights(weights, stored)
        content = self._worker_pool.converted(
            Task(finding.model, graph, {}, weights=weights), converter
        )
        weights.unlink()
        text = onnx_text(content) if isinstance(content, bytes) else None
        return native_script(found, text, numbers, expected, actual) if text is not None else None

    def _in_its_environment(
        self,
        found: UniqueFinding,
        numbers: Numbers,
        layers: dict[int, LayerDescription],
        folder: Path,
    ) -> str | None:
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
        content = self._worker_pool.converted(Task(finding.model, found.graph, {}), source)
        if not isinstance(content, bytes):
            return None
        expected, _, tolerances = self._outputs(found, numbers, layers, folder)
        dtypes = [found.graph.tensors[i].dtype for i in found.graph.outputs]
        right = (expected, tolerances, dtypes) if expected else None
        title = f"{found.signature}\n\nSeen with {packages_of(library)}."
        inputs = [array.values for array in numbers.inputs]
        return file_script(title, plugin, option_of(backend), content, inputs, right, finding)

    def _outputs(
        self,
        found: UniqueFinding,
        numbers: Numbers,
        layers: dict[int, LayerDescription],
        folder: Path,
    ) -> tuple[Arrays, Arrays, Arrays]:
        """What is right, what the backend gives, and what is tolerated; empty for failures."""
        finding = found.finding
        if not finding.by_values:
            return [], [], []
        graph, stored = numbers.stored(found.graph, layers)
        weights = folder / "weights.npz"
        write_weights(weights, stored)
        distribution = finding.distributions[0]
        backends = [r for r in finding.backends[:1] if r not in CONVERTERS]
        given = {distribution: [array.values for array in numbers.inputs]}
        wanted = tuple(dict.fromkeys((*FLOAT64, *backends)))
        task = Task(finding.model, graph, given, backends=wanted, weights=weights)
        result = self._worker_pool.run(task)
        weights.unlink()
        compared = compared_nodes(graph, (distribution,))
        said = vote_of(graph, result, distribution, self._judging, compared)
        expected = result.outputs[said.right[0]][distribution]
        moved = result.outputs.get(PERTURBED, {}).get(distribution)
        allowed = tolerated(
            expected, tolerance_of(graph, self._judging), spread_of(expected, moved)
        )
        actual = result.outputs.get(backends[0], {}).get(distribution, []) if backends else []
        return expected, actual, allowed


def _write(folder: Path, script: str, check: str) -> None:
    (folder / REPRO).write_text(script, encoding="utf-8")
    (folder / CHECK).write_text(check, encoding="utf-8")


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
