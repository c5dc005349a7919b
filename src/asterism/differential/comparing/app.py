"""Comparing two versions of a library on a user's models and on generated ones."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from asterism.config import changed_params
from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.registry import closest
from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import (
    OF_ONNX,
    file_float64,
    library_of,
    plugin_of,
    reads_given,
)
from asterism.differential.adapters.environments import environment, versions_of
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.comparing import making
from asterism.differential.comparing.blaming import Blame, Part
from asterism.differential.comparing.comparing import Change, Pair, changes_of
from asterism.differential.comparing.explaining import Asked, explain
from asterism.differential.comparing.judging import lacks_reference, run_subject
from asterism.differential.comparing.versions_page import Comparison, models_of, write_versions_page
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import RIGHT, UNCHECKED, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import reduce_models
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.onnx_file import Subject, subject_of
from asterism.differential.subjects.operators import operator_subjects
from asterism.differential.subjects.reading import given_inputs, read_subjects
from asterism.memo.generating.generate import generate
from asterism.memo.graphs.light_keras import import_keras

#: The converter that makes files of generated models.
CONVERTER = "tf2onnx"


class _Params(ParameterSection):
    """What is read of ``params.yaml``."""

    seed: Seed
    reduce: ReduceParams
    generate: RewardedGenerateParams
    execute: ExecuteParams
    judge: JudgeParams


@dataclass(frozen=True)
class Request:
    """What a user asks.

    Args:
        library: under test.
        old: version that is left.
        new: version that is taken.
        models: ONNX files.
        shapes: of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        generated: number of models to generate beside them.
        operators: whether models of one operator each run too.
        distributions: inputs to draw.
        explained: changes whose nodes are looked for.
        steps: parts tried for each of them.
        target: folder of the page; replaced.
        changes: of parameters, as ``-S`` takes them.
    """

    library: str
    old: str
    new: str
    models: Sequence[Path]
    shapes: dict[str, tuple[int, ...]]
    size: int
    inputs: Path | None
    generated: int
    operators: bool
    distributions: Sequence[str]
    explained: int
    steps: int
    target: Path
    changes: Sequence[str] = ()


def compare_versions(request: Request, say: Callable[[str], None]) -> Comparison:
    """Run every model in both versions, look for the nodes to blame, and write the page.

    A way to run files that one of the versions lacks is left out.

    Raises:
        UserError: the library, a version or a model is not to be had.
    """
    params = changed_params(_Params, request.changes)
    if not (request.models or request.generated or request.operators):
        raise UserError("give --model FILE.onnx, a number by --generated, or --operators")
    libraries = [version_of(request.library, v, say) for v in (request.old, request.new)]
    if libraries[0] == libraries[1]:
        raise UserError(f"{request.old} and {request.new} are both the {libraries[0]} that is here")
    rejected: NotCompared = []
    shapes, sizes = request.shapes, request.size
    subjects: list[ModelFile] = read_subjects(request.models, sizes, shapes, rejected, [".onnx"])
    pairs = pairs_of(*libraries)
    backends = [backend for pair in pairs for backend in (pair.old, pair.new)]
    needed = [f"onnxruntime:{CONVERTER}"] if request.generated else []
    limits = Limits(params.execute.hang_seconds, params.execute.memory_mb)
    old, new = (title_of(library) for library in libraries)
    versions = (package_versions(libraries[0]), package_versions(libraries[1]))
    found = Comparison(old, new, versions, rejected=rejected)
    with WorkerPool([*backends, *needed, *OF_ONNX.all], limits) as pool:
        pairs = _working(pairs, pool.start(), found)
        backends = [backend for pair in pairs for backend in (pair.old, pair.new)]
        subjects += operator_subjects() if request.operators else ()
        subjects += _generated(request, params, pool, found)
        for subject in progress(subjects, label="compare", unit="model"):
            with going_on(subject.name, rejected):
                inputs = _inputs(request, params, subject)
                result = run_subject(pool, subject, inputs, backends)
                found.subjects.append((subject, changes_of(subject, result, pairs, params.judge)))
                if why := lacks_reference(subject, result):
                    found.no_reference[subject.name] = why
        require_some(found.subjects, rejected)
        with replacing(request.target) as folder:
            folder.mkdir()
            _explain(request, params, pool, found, folder)
            write_versions_page(folder / "index.html", found, params.judge)
            write_json(folder / "changes.json", facts_of(found))
    return found


def readers_of(formats: Container[str]) -> list[str]:
    """The libraries under test that run files of these formats, by the files' suffixes."""
    tested = [name for name in LIBRARIES if f"{name}:float64" not in file_float64()]
    kinds = {name: LIBRARIES[name] for name in tested}
    return [n for n, k in kinds.items() if issubclass(k, FileLibrary) and k.suffix in formats]


def version_of(
    library: str,
    version: str,
    say: Callable[[str], None],
    formats: Container[str] = frozenset((".onnx",)),
) -> str:
    """The name of a library in a version, whose environment is made where it is missing.

    Args:
        library: by name.
        version: of it, or another library: ``openvino``, ``openvino@2024.6``.
        say: told what making an environment costs.
        formats: suffixes of the files that it is to run.

    Raises:
        UserError: the library reads no such files, or its environment is not to be had.
    """
    name = named_version(library, version, formats)
    if "@" in name:
        making.make(environment(name), say)
    return name


def named_version(
    library: str, version: str, formats: Container[str] = frozenset((".onnx",))
) -> str:
    """The name of a library in a version: the installed one has none of its own.

    Args:
        library: by name.
        version: of it, or another library.
        formats: suffixes of the files that it is to run.

    Raises:
        UserError: the library reads no such files, or there is no such environment.
    """
    if "@" in version or version in LIBRARIES:
        library, _, version = version.partition("@")
    known = readers_of(formats)
    if library not in known:
        hint = closest(library, known)
        raise UserError(f"no files are run by {library!r}{hint} (known: {', '.join(known)})")
    if not version or f"{installed(library)}.".startswith(f"{version}."):
        return library
    return environment(f"{library}@{version}").name


def pairs_of(old: str, new: str) -> list[Pair]:
    """Every way to run a file, in both; another library may have only one of its own."""
    ways = {
        library: [
            option
            for option in plugin_of(library).all_options()
            if reads_given(f"{library}:{option}")
        ]
        for library in (old, new)
    }
    more, fewer = sorted(ways.values(), key=len, reverse=True)
    chosen = {option: option if option in fewer else fewer[0] for option in more}
    return [
        Pair(
            f"{old}:{option if option in ways[old] else chosen[option]}",
            f"{new}:{option if option in ways[new] else chosen[option]}",
        )
        for option in more
    ]


def installed(library: str) -> str:
    """The installed version of a library; nothing where it is not installed."""
    try:
        return versions_of(library)[plugin_of(library).packages[0]]
    except PackageNotFoundError:
        return ""


def _working(pairs: list[Pair], left_out: Mapping[str, str], found: Comparison) -> list[Pair]:
    """The ways to run a file that both versions have; the page says which ones one lacks.

    Raises:
        UserError: they have none in common.
    """
    working = []
    for pair in pairs:
        missing = [b for b in (pair.old, pair.new) if b in left_out]
        if not missing:
            working.append(pair)
        for backend in missing:
            found.rejected.append((f"all models in {backend}", left_out[backend]))
    if not working:
        raise UserError("; ".join(f"{b} does not work: {why}" for b, why in left_out.items()))
    return working


def facts_of(found: Comparison) -> dict[str, object]:
    """What was found, as a JSON value."""
    parts = {id(e.change): e for e in found.explained}

    def facts(change: Change) -> dict[str, object]:
        explained = parts.get(id(change))
        return {
            "model": change.subject,
            "option": change.pair.option,
            "inputs": change.distribution,
            "kind": change.kind,
            "old": _off(change.old),
            "new": _off(change.new),
            "said": change.said,
            "answers": list(change.answers),
            "nodes": None if explained is None else explained.part.layers,
            "script": None if explained is None else explained.script,
            "statuses": None if explained is None else [status for _, status in explained.statuses],
        }

    return {
        "old": found.old,
        "new": found.new,
        "versions": list(found.versions),
        "models": len(found.subjects),
        "compared": models_of(found),
        "changes": [facts(change) for change in found.changes],
        "no_reference": found.no_reference,
        "rejected": [list(pair) for pair in found.rejected],
    }


def _off(finding: Finding) -> list[object] | None:
    """How a version is off, and by how many times its bound; None where it is not, or fails."""
    if finding.fails or finding.symptom in (RIGHT, UNCHECKED):
        return None
    return [finding.symptom, min(finding.excess, 1e30)]


def _generated(
    request: Request, params: _Params, pool: WorkerPool, found: Comparison
) -> Iterator[Subject]:
    """Generated models as files; those that the converter makes none of are noted."""
    import onnx

    if not request.generated:
        return
    import_keras("numpy")
    seeds = reduce_models(params.reduce.model_copy(update={"timing_runs": 0}), params.seed)
    campaigns = generate(
        seeds.models,
        params.generate.model_copy(update={"compared": []}),
        params.seed,
        reward=nullcontext,
    )
    main = campaigns[params.generate.strategy]
    for index in progress(sorted(main.broadest(request.generated)), label="convert", unit="model"):
        name = f"generated {index:05d}"
        content = pool.converted(Task(index, main.mutants[index].graph, {}), CONVERTER)
        if isinstance(content, ExecutionOutcome):
            found.rejected.append((name, f"{CONVERTER}: {content.exception} {content.message}"))
            continue
        yield subject_of(name, onnx.load_model_from_string(content), request.size, {})


def _inputs(request: Request, params: _Params, subject: ModelFile) -> dict[str, Arrays]:
    return given_inputs(subject, request.models, request.inputs, request.distributions, params.seed)


def _explain(
    request: Request, params: _Params, pool: WorkerPool, found: Comparison, folder: Path
) -> None:
    """Look for the nodes to blame for the worst changes, one for each model and way to run it."""
    first: dict[tuple[str, str], Change] = {}
    for change in found.changes:
        first.setdefault((change.subject, change.pair.option), change)
    asked = [
        Asked(
            c,
            c.kind,
            {found.old: library_of(c.pair.old), found.new: library_of(c.pair.new)},
            _headline,
        )
        for c in list(first.values())[: request.explained]
    ]
    subjects = {subject.name: subject for subject, _ in found.subjects}
    inputs = partial(_inputs, request, params)
    blame = Blame(pool, params.judge, request.steps)
    found.explained += explain(asked, subjects, inputs, blame, params.judge, folder, found.rejected)


def _headline(part: Part) -> str:
    """What a script is about: the version at fault, what is wrong, and how the other one does."""
    change = part.change
    other = change.pair.old if change.culprit == change.pair.new else change.pair.new
    what = change.at_fault.symptom
    silent = change.kind == "silently wrong"
    same = "" if change.kind in ("both wrong", "differs") else " is right"
    right = " does not run it" if silent else same
    culprit, beside = (title_of(library_of(backend)) for backend in (change.culprit, other))
    return f"{culprit}: {what} in {', '.join(part.layers[:3])} ({beside}{right})"


def package_versions(library: str) -> dict[str, str]:
    """The packages of a library's environment; of the installed one those that it names."""
    return environment(library).versions if "@" in library else plugin_of(library)().versions()


def title_of(library: str) -> str:
    """A library with its full version."""
    plugin = plugin_of(library)
    return f"{plugin.name} {versions_of(library)[plugin.packages[0]]}"
