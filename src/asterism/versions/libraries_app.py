"""Comparing all libraries that read a model's file, on the file as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, Seed, read_params
from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import (
    FILE_FLOAT64,
    library_of,
    plugin_of,
    product_of,
    reads_given,
)
from asterism.libraries.adapters.environments import interpreter_of
from asterism.libraries.adapters.library import LIBRARIES, FileLibrary
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.confirming import exit_statuses
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.versions.app import installed, title_of, version_of
from asterism.versions.beside import Deed, deeds_of
from asterism.versions.blaming import Arrays, Blame
from asterism.versions.comparing import run_subject
from asterism.versions.libraries_page import Shown, Standing, facts_of, write_libraries_page
from asterism.versions.scripts import write_part
from asterism.versions.subjects import Subject, given_inputs, read_subjects


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
        environments: libraries beside these, in environments of their own: ``mxnet@1.9.1``.
        shapes: of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        distributions: inputs to draw.
        explained: faults whose nodes are looked for.
        steps: parts tried for each of them.
        target: folder of the page; replaced.
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


def compare_libraries(request: Request, say: Callable[[str], None]) -> Standing:
    """Run every model in every library that reads its file, explain faults, and write the page.

    Raises:
        UserError: a library or a model is not to be had.
    """
    params = read_params(_Params)
    if not request.models:
        raise UserError("give --model FILE, as often as there are models")
    libraries = _libraries(request, say)
    subjects = read_subjects(request.models, request.size, request.shapes)
    backends = [
        backend
        for library in libraries
        for option in plugin_of(library).all_options()
        if reads_given(backend := f"{library}:{option}")
    ]
    limits = Limits(params.execute.hang_seconds, params.execute.memory_mb)
    with WorkerPool([*backends, *FILE_FLOAT64], limits) as pool:
        found = Standing(pool.start(), [title_of(library) for library in libraries])
        for subject in progress(subjects, label="run", unit="model"):
            inputs = _inputs(request, params, subject)
            result = run_subject(pool, subject, inputs, backends)
            found.subjects.append((subject, deeds_of(subject, result, params.judge)))
        with replacing(request.target) as folder:
            folder.mkdir()
            found.shown.extend(_shown(request, params, pool, found, folder))
            write_libraries_page(folder / "index.html", found, params.judge)
            write_json(folder / "findings.json", facts_of(found))
    return found


def _libraries(request: Request, say: Callable[[str], None]) -> list[str]:
    """The libraries that are asked for; each environment is made where it is missing."""
    own = [name for name in LIBRARIES if _runs_files(name) and installed(name)]
    names = [*(request.libraries or own), *request.environments]
    return list(dict.fromkeys(version_of(product_of(n), n.partition("@")[2], say) for n in names))


def _runs_files(library: str) -> bool:
    """Whether a library under test runs ONNX files."""
    kind = LIBRARIES[library]
    tested = f"{library}:float64" not in FILE_FLOAT64
    return issubclass(kind, FileLibrary) and kind.suffix == ".onnx" and tested


def _inputs(request: Request, params: _Params, subject: Subject) -> dict[str, Arrays]:
    return given_inputs(subject, request.models, request.inputs, request.distributions, params.seed)


def _shown(
    request: Request, params: _Params, pool: WorkerPool, found: Standing, folder: Path
) -> Iterator[Shown]:
    """The nodes to blame for the worst faults, one for each model, library and kind of fault."""
    subjects = {subject.name: subject for subject, _ in found.subjects}
    chosen: dict[tuple[str, ...], tuple[str, Deed]] = {}
    for name, deed in found.faults:
        key = (name, library_of(deed.backend), deed.kind, *deed.said.split()[:2])
        if deed.change is not None:
            chosen.setdefault(key, (name, deed))
    blame = Blame(pool, params.judge, request.steps)
    some = list(chosen.values())[: request.explained]
    for number, (name, deed) in enumerate(progress(some, label="blame", unit="fault"), 1):
        assert deed.change is not None
        inputs = _inputs(request, params, subjects[name])[deed.distribution]
        part = blame.smallest(subjects[name], inputs, deed.change)
        library = library_of(deed.backend)
        words = f"{number:02d} {library} {deed.kind} {name}"
        title = f"{title_of(library)}: {_what(deed)} in {', '.join(part.layers[:3])}"
        script = write_part(part, folder, words, title, params.judge)
        (status,) = exit_statuses(script, 1, interpreter_of(library))
        yield Shown(name, deed, part, script.parent.name, status)


def _what(deed: Deed) -> str:
    """What is wrong, in a script's first line."""
    assert deed.change is not None
    difference = deed.change.new or deed.change.old
    return deed.kind if difference is None else difference.kind
