"""Comparing all libraries that read a model's file, on the file as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from asterism.config import changed_params
from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import (
    plugin_of,
    product_of,
    reads_given,
    suffix_of,
)
from asterism.differential.comparing.app import (
    installed,
    named_version,
    readers_of,
    title_of,
    version_of,
)
from asterism.differential.comparing.beyond_type import within_type
from asterism.differential.comparing.blaming import Blame, Part
from asterism.differential.comparing.comparing import Change
from asterism.differential.comparing.explaining import Asked, explain
from asterism.differential.comparing.judging import run_subject, verdict_of
from asterism.differential.comparing.libraries_page import Standing, facts_of, write_libraries_page
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import RIGHT, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.reading import given_inputs, read_subjects


class _Params(ParameterSection):
    """What is read of ``params.yaml``."""

    seed: Seed
    execute: ExecuteParams
    judge: JudgeParams


@dataclass(frozen=True)
class Request:
    """What a user asks.

    Args:
        models: files.
        libraries: to run them, with an environment where one is named; none: all installed ones.
        environments: libraries beside these, in environments of their own: ``onnxruntime@1.20``.
        shapes: of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        distributions: inputs to draw.
        explained: faults whose nodes are looked for.
        steps: parts tried for each of them.
        target: folder of the page; replaced.
        changes: of parameters, as ``-S`` takes them.
        root: the project whose parameters count.
    """

    models: Sequence[Path]
    libraries: Sequence[str]
    environments: Sequence[str]
    shapes: dict[str, tuple[int, ...]]
    size: int
    inputs: Path | None
    distributions: Sequence[str]
    explained: int
    steps: int
    target: Path
    changes: Sequence[str] = ()
    root: Path = Path()


def compare_libraries(request: Request, say: Callable[[str], None]) -> Standing:
    """Run every model in every library that reads its file, explain faults, and write the page.

    Raises:
        UserError: a library or a model is not to be had.
    """
    params = changed_params(_Params, request.changes, request.root)
    if not request.models:
        raise UserError("give --model FILE, as often as there are models")
    rejected: NotCompared = []
    subjects = read_subjects(request.models, request.size, request.shapes, rejected)
    formats = {subject.suffix for subject in subjects}
    libraries = _libraries(request, formats, say, rejected)
    backends = [
        backend
        for library in libraries
        for option in plugin_of(library).all_options()
        if reads_given(backend := f"{library}:{option}")
    ]
    references = [r for subject in subjects for r in subject.references.all]
    limits = Limits(params.execute.hang_seconds, params.execute.memory_mb)
    with WorkerPool([*backends, *dict.fromkeys(references)], limits) as pool:
        titles = [title_of(library) for library in libraries]
        found = Standing(titles, left_out=pool.start(), rejected=rejected)
        for subject in progress(subjects, label="run", unit="model"):
            with going_on(subject.name, rejected):
                inputs = _inputs(request, params, subject)
                readers = [b for b in backends if suffix_of(b) == subject.suffix]
                result = run_subject(pool, subject, inputs, readers)
                verdict = verdict_of(subject, result, params.judge)
                found.subjects.append((subject, within_type(pool, subject, inputs, verdict)))
        require_some(found.subjects, rejected)
        with replacing(request.target) as folder:
            folder.mkdir()
            _explain(request, params, pool, found, folder)
            write_libraries_page(folder / "index.html", found, params.judge)
            write_json(folder / "findings.json", facts_of(found))
    return found


def _libraries(
    request: Request, formats: set[str], say: Callable[[str], None], rejected: NotCompared
) -> list[str]:
    """The libraries that are asked for; each environment is made where it is missing."""
    own = [name for name in readers_of(formats) if installed(name)]
    names = [*(request.libraries or own), *request.environments]
    pairs = [(product_of(name), name.partition("@")[2]) for name in names]
    found = []
    for name in dict.fromkeys(named_version(*pair, formats) for pair in pairs):
        with going_on(name, rejected):
            found.append(version_of(product_of(name), name.partition("@")[2], say, formats))
    require_some(found, rejected)
    return found


def _inputs(request: Request, params: _Params, subject: ModelFile) -> dict[str, Arrays]:
    return given_inputs(subject, request.models, request.inputs, request.distributions, params.seed)


def _explain(
    request: Request, params: _Params, pool: WorkerPool, found: Standing, folder: Path
) -> None:
    """Look for the nodes to blame for the worst faults: one of each model, library and kind."""
    subjects = {subject.name: subject for subject, _ in found.subjects}
    chosen: dict[tuple[str, ...], Asked] = {}
    for name, one in found.faults:
        key = (name, one.library, one.symptom, one.exception)
        if one.agreeing and key not in chosen:
            change = _beside(subjects[name], one, name in found.no_reference)
            words = f"{one.library} {one.symptom}"
            chosen[key] = Asked(
                change, words, {title_of(one.library): one.library}, partial(_title, one)
            )
    asked = list(chosen.values())[: request.explained]
    inputs = partial(_inputs, request, params)
    blame = Blame(pool, params.judge, request.steps)
    found.explained += explain(asked, subjects, inputs, blame, params.judge, folder, found.rejected)


def _title(one: Finding, part: Part) -> str:
    return f"{title_of(one.library)}: {one.symptom} in {', '.join(part.layers[:3])}"


def _beside(subject: ModelFile, one: Finding, unknown: bool) -> Change:
    """A fault as the change from a configuration that is right to it; or back, if none can say."""
    other = one.agreeing[0]
    right = replace(one, symptom=RIGHT, backends=(other,), exception="", message="")
    if unknown and not one.fails:
        return Change(subject.name, one, right, referee=other)
    return Change(subject.name, right, one, referee=subject.references.right)
