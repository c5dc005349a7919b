"""Writing a folder for each unique finding: ``repro.py``, ``report.md`` and the minimal model."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import write_json
from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.errors import UserError
from asterism.core.settings.machine import available_threads
from asterism.core.settings.yaml_files import read_yaml
from asterism.libraries.adapters.backends import (
    FLOAT64,
    PERTURBED,
    REFERENCES,
    converter_of,
    library_of,
    option_of,
    plugin_of,
)
from asterism.libraries.adapters.environments import interpreter_of, versions_of
from asterism.libraries.adapters.library import CONVERTERS, FileLibrary
from asterism.libraries.adapters.versions import installed_versions
from asterism.libraries.judging.compare import spread_of
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.oracle import tolerance_of
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.confirming import exit_statuses
from asterism.libraries.reporting.file_scripts import file_script
from asterism.libraries.reporting.keras_files import GRAPH, MODEL
from asterism.libraries.reporting.markdown import block, cell, code, shown
from asterism.libraries.reporting.reproducer import script_of, tolerated
from asterism.libraries.running.inputs import sample_inputs
from asterism.libraries.running.worker_pool import Task, WorkerPool
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.weights import Stored

#: Fresh processes that a reproducer is run in.
CONFIRMATIONS = 3

#: Characters of a script that a report can hold: issue trackers take 65,536 in all.
LONGEST = 50_000


@dataclass(frozen=True)
class Report:
    """What was written about one unique finding."""

    folder: str
    signature: str
    confirmed: tuple[int, ...]
    known: str

    @property
    def reproduced(self) -> bool:
        """Whether every fresh process showed it."""
        return all(status == 1 for status in self.confirmed)

    def to_json(self, found: UniqueFinding) -> dict[str, Any]:
        """What the list of unique findings says about this one."""
        return {
            "folder": self.folder,
            "signature": self.signature,
            "confirmed": list(self.confirmed),
            "known": self.known,
            "layer": str(found.layer or ""),
            "models": sorted(found.models),
            "layers": len(found.graph.layers),
            "original_layers": found.original_layers,
            "minimality": found.minimality,
            "ablation": found.ablation,
            "finding": found.finding.to_json(),
            "graph": found.graph.to_json(),
        }


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager; :meth:`start` may be called from triage, :meth:`finish` when the
    finding is complete.

    Args:
        worker_pool: started workers.
        judging: tolerances.
        seed: of the inputs.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: links by a part of the signature.
    """

    def __init__(
        self,
        worker_pool: WorkerPool,
        judging: JudgeParams,
        seed: int,
        stored: Stored,
        target: Path,
        known_issues: dict[str, str],
    ) -> None:
        self._worker_pool = worker_pool
        self._judging = judging
        self._seed = seed
        self._stored = stored
        self._target = target
        self._known_issues = known_issues
        self._pool = ThreadPoolExecutor(available_threads())
        self._confirming: dict[str, Future[tuple[int, ...]]] = {}

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, found: UniqueFinding) -> None:
        """Write the script and the model, and run the script in fresh processes."""
        folder = self._target / folder_name(found)
        write_json(folder / GRAPH, found.graph.to_json())
        script = folder / "repro.py"
        text = _script(found, self._worker_pool, self._judging, self._seed, self._stored)
        script.write_text(text, encoding="utf-8")
        python = interpreter_of(_environment_of(found.finding) or "")
        runs = self._pool.submit(exit_statuses, script, CONFIRMATIONS, python)
        self._confirming[found.signature] = runs

    def finish(self, found: UniqueFinding) -> Report:
        """Write the report: how the script's processes ended, and what lies beside it."""
        name, signature = folder_name(found), found.signature
        confirmed = self._confirming[signature].result()
        links = (link for part, link in self._known_issues.items() if part in signature)
        report = Report(name, signature, confirmed, next(links, ""))
        folder = self._target / name
        text = _markdown(found, report, folder)
        (folder / "report.md").write_text(text, encoding="utf-8", errors="replace")
        return report


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def read_known_issues(name: str) -> dict[str, str]:
    """Links by a part of the signature, from a YAML file; none for the placeholder.

    Raises:
        UserError: the file is missing or is no mapping of strings.
    """
    try:
        if name == NO_FILE:
            return {}
        document = read_yaml(Path(name)) or {}
    except FileNotFoundError as error:
        raise UserError(f"cannot read the known issues {name}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{name} must map parts of signatures to links")
    return {str(k): str(v) for k, v in document.items()}


def _script(
    found: UniqueFinding, worker_pool: WorkerPool, judging: JudgeParams, seed: int, stored: Stored
) -> str:
    graph, finding = found.graph, found.finding
    distribution = finding.distributions[0] if finding.distributions else "normal"
    inputs = sample_inputs(graph, seed, finding.model, distribution)
    expected: Sequence[Any] = []
    tolerances: Sequence[Any] = []
    if finding.by_values:
        backends = FLOAT64
        result = worker_pool.run(
            Task(finding.model, graph, {distribution: inputs}, backends=backends)
        )
        reference = next(result.outputs[r] for r in reversed(REFERENCES) if r in result.outputs)
        moved = result.outputs.get(PERTURBED, {}).get(distribution)
        expected = reference[distribution]
        tolerances = tolerated(expected, tolerance_of(graph, judging), spread_of(expected, moved))
    return _of_file(found, worker_pool, inputs, expected, tolerances) or script_of(
        found, stored, worker_pool.described(graph), inputs, expected, tolerances
    )


def _of_file(
    found: UniqueFinding,
    worker_pool: WorkerPool,
    inputs: Sequence[Any],
    expected: Sequence[Any],
    tolerances: Sequence[Any],
) -> str | None:
    """The script with the model's file, where the library has an environment of its own.

    There the converter is not installed; None where the library is here, or builds from Keras.
    """
    library, finding = _environment_of(found.finding), found.finding
    backend = next((b for b in finding.backends if library_of(b) == library), "")
    source = converter_of(backend) if backend else None
    if library is None or source is None:
        return None
    content = worker_pool.converted(found.graph, source)
    plugin = plugin_of(library)()
    if not isinstance(content, bytes) or not isinstance(plugin, FileLibrary):
        return None
    dtypes = [found.graph.tensors[i].dtype for i in found.graph.outputs]
    right = (expected, tolerances, dtypes) if expected else None
    title, option = f"{found.signature}\n\nSeen with {_named(library)}.", option_of(backend)
    return file_script(title, plugin, option, content, inputs, right, finding)


def _environment_of(finding: Finding) -> str | None:
    """The library with its environment that a finding's script runs in; None for this Python."""
    first = next((b for b in finding.backends if b not in CONVERTERS), "")
    return library_of(first) if "@" in library_of(first) else None


def _named(library: str) -> str:
    """The packages of a library's environment that it names, with their versions."""
    return ", ".join(f"{package} {v}" for package, v in versions_of(library).items())


def _markdown(found: UniqueFinding, report: Report, folder: Path) -> str:
    """In the shape that the libraries' bug templates ask for."""
    finding = found.finding
    statuses = ", ".join(map(str, report.confirmed))
    ablation = "\n".join(f"| {cell(what)} | {cell(a)} |" for what, a in found.ablation.items())
    known = f"\nKnown: {shown(report.known)}\n" if report.known else ""
    packages = "\n".join(f"- {name} {shown(v)}" for name, v in installed_versions().items())
    if (library := _environment_of(finding)) is not None:
        packages = f"- the environment {library}: {shown(_named(library))}\n{packages}"
    where = shown(str(found.layer or finding.exception))
    return f"""# {shown(finding.library)}: {shown(finding.symptom)} ({where})
{known}
## Description

{code(found.signature)}

The model is {found.minimality}. \
{len(found.models)} generated model(s) showed it. Backends:
{", ".join(map(shown, finding.backends))}.

## Steps to reproduce

`python repro.py` (exit statuses in three fresh processes: {statuses}; 1 is the bug).
{_model(folder)}

{_script_of(folder)}

## Expected behaviour

{_expected(finding)}

## Actual behaviour

{_actual(finding)}

## What was varied

`shows`: the same goes wrong. `gone`, `ok`: it runs, and that does not. `no file to read`: the \
converter whose file the backend reads wrote none. Another word says how it ended without results.

| varied | result |
|---|---|
{ablation}

## Versions

{packages}
"""


def _model(folder: Path) -> str:
    if not (folder / MODEL).exists():
        return "Keras writes no file of the model."
    return "The model with its weights is also `model.keras`, for `keras.saving.load_model`."


def _script_of(folder: Path) -> str:
    script = (folder / "repro.py").read_text(encoding="utf-8")
    if len(script) > LONGEST:
        return f"The script, of {len(script):,} characters, is too long for an issue: attach it."
    return block(script, "python")


def _expected(finding: Finding) -> str:
    agreeing = ", ".join(map(shown, finding.agreeing[:3]))
    if finding.by_values:
        return f"The output of a float64 run, within float32's rounding; {agreeing} give it."
    if agreeing:
        return f"The model runs, as it does in {agreeing}."
    return "The model runs, or raises an exception." if finding.deadly else "The model runs."


#: How far off outputs are, in words.
_DISTANCES = {
    "NaN/Inf mask differs": ": {:.0f} element(s)",
    "values differ": ": {:.3g} times the tolerance",
}


def _actual(finding: Finding) -> str:
    if finding.by_values:
        distance = _DISTANCES.get(finding.symptom, "").format(finding.excess)
        return f"{finding.symptom}{distance}; D_MAD {finding.d_mad:.3g}."
    said = code(finding.exception or finding.symptom)
    if not finding.message:
        return f"{said}."
    lines = textwrap.fill(finding.message, 100, break_long_words=False, break_on_hyphens=False)
    return f"""{said}, with this message. NAME, NUMBER, ADDRESS and _N stand for what differs from \
run to run, and … for the rest of a long one.

{block(lines, "text")}"""
