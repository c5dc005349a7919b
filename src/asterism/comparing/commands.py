"""The two commands: all libraries that read a model's file, and two versions of one library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, product

from asterism.comparing.cases import (
    CHANGES,
    UNCHANGED,
    WORSE,
    LibraryStatus,
    UpgradeChange,
    UpgradePair,
    judge_upgrade,
)
from asterism.comparing.comparison import (
    BackendComparison,
    ComparisonPage,
    ComparisonRequest,
    LibraryComparisonParams,
)
from asterism.comparing.judging import drop_type_findings, group_answers, judge_of_file
from asterism.comparing.libraries import (
    ensure_environment,
    ensure_readers,
    file_options_of,
    installed_version,
    named_version,
    package_versions,
    readers_of,
    title_of,
)
from asterism.comparing.running import run_comparison
from asterism.config import compose_changed_params
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backend_names import OF_ONNX, product_of
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.engine.execution import limits_of
from asterism.differential.engine.tasks import ExecutionOutcome, Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import FAULTS, STATUSES, UNRESOLVED
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import reduce_models
from asterism.differential.subjects import Arrays, ModelFile
from asterism.differential.subjects.onnx_file import OnnxModelFile, make_subject
from asterism.differential.subjects.operators import operator_subjects
from asterism.differential.subjects.reading import (
    NotCompared,
    note_failure,
    read_subjects,
    require_any_compared,
)
from asterism.memo.generating.generate import generate
from asterism.memo.graphs.light_keras import import_keras

OF_LIBRARIES = ComparisonPage(
    "libraries",
    "libraries.html.j2",
    "findings.json",
    "Do these models compute the same in every library that reads their files?",
    "models with a fault of a library",
    "models show a fault of a library",
    kinds=STATUSES,
    told=FAULTS,
    bad=FAULTS,
)


def compare_libraries(
    request: ComparisonRequest,
    libraries: Sequence[str],
    environments: Sequence[str],
    say: Callable[[str], None],
) -> BackendComparison:
    """Run every model in every library that reads its file, explain faults, and write the page.

    Args:
        request: what a user asks.
        libraries: to run the models, with an environment where one is named; none: all installed.
        environments: libraries beside these, in environments of their own: ``onnxruntime@1.20``.
        say: told what making an environment costs.

    Raises:
        UserError: a library or a model is not to be had.
    """
    params = compose_changed_params(LibraryComparisonParams, request.changes, request.root)
    if not request.models:
        raise UserError("give --model FILE, once for each model")
    rejected: NotCompared = []
    subjects = read_subjects(request.models, request.size, request.shapes, rejected)
    formats = {subject.suffix for subject in subjects}
    libraries = _libraries(libraries, environments, formats, say, rejected)
    backends = [
        f"{library}:{option}" for library in libraries for option in file_options_of(library)
    ]
    references = dict.fromkeys(r for subject in subjects for r in subject.references.all)
    with WorkerPool([*backends, *references], limits_of(params.execute)) as pool:
        titles = [title_of(library) for library in libraries]
        lacking = pool.start()
        found = BackendComparison(
            page=OF_LIBRARIES, compared=titles, left_out=lacking, rejected=rejected
        )
        for library in libraries:
            said = [lacking.get(f"{library}:{option}") for option in file_options_of(library)]
            if all(said):
                rejected.append((f"all models in {library}", str(said[0])))

        def judged(
            subject: ModelFile, inputs: Mapping[str, Arrays], result: Result
        ) -> list[LibraryStatus]:
            judges = (judge_of_file(subject, result, d, params.judge) for d in result.distributions)
            return [
                LibraryStatus(
                    subject.name,
                    one,
                    judge.is_known,
                    group_answers(judge) if one.symptom == UNRESOLVED else (),
                )
                for judge in judges
                for one in drop_type_findings(pool, subject, inputs, judge.findings())
            ]

        run_comparison(found, request, params, pool, subjects, backends, judged)
    return found


def _libraries(
    asked: Sequence[str],
    environments: Sequence[str],
    formats: set[str],
    say: Callable[[str], None],
    rejected: NotCompared,
) -> list[str]:
    """The libraries that are asked for; each environment is made where it is missing."""
    own = [name for name in readers_of(formats) if installed_version(name)]
    names = [*(asked or own), *environments]
    pairs = [(product_of(name), name.partition("@")[2]) for name in names]
    found = []
    for name in dict.fromkeys(named_version(*pair, formats) for pair in pairs):
        with note_failure(name, rejected):
            found.append(ensure_environment(name, say))
    require_any_compared(found, rejected)
    return found


#: The converter that makes files of generated models.
CONVERTER = "tf2onnx"


OF_VERSIONS = ComparisonPage(
    "versions",
    "versions.html.j2",
    "changes.json",
    "Does the upgrade change what these models compute?",
    "models that change",
    "models change from {} to {}",
    kinds=CHANGES,
    told=[kind for kind in CHANGES if kind not in UNCHANGED],
    bad=WORSE,
)


class UpgradeParams(LibraryComparisonParams):
    """What a comparison of two versions reads of ``params.yaml``: how to generate models too."""

    reduce: ReduceParams
    generate: RewardedGenerateParams


def compare_versions(
    request: ComparisonRequest,
    library: str,
    versions: tuple[str, str],
    say: Callable[[str], None],
    *,
    generated: int = 0,
    operators: bool = False,
) -> BackendComparison:
    """Run every model in both versions, look for the nodes to blame, and write the page.

    A way to run files that the new version lacks could not be compared; one that the old version
    lacks is new, and only told.

    Args:
        request: what a user asks.
        library: under test.
        versions: the one that is left, and the one that is taken.
        say: told what making an environment costs.
        generated: number of models to generate beside the user's.
        operators: whether models of one operator each run too.

    Raises:
        UserError: the library, a version or a model is not to be had.
    """
    params = compose_changed_params(UpgradeParams, request.changes, request.root)
    if not (request.models or generated or operators):
        raise UserError("give --model FILE, --generated NUMBER or --operators")
    rejected: NotCompared = []
    subjects = read_subjects(request.models, request.size, request.shapes, rejected)
    of_onnx = [".onnx"] if generated or operators else []
    formats = {*of_onnx, *(subject.suffix for subject in subjects)}
    old, new = (ensure_readers(library, version, say, formats) for version in versions)
    one, other = (next(iter(names.values())) for names in (old, new))
    if one == other:
        raise UserError(f"{' and '.join(versions)} both name the {one} that is installed")
    found = BackendComparison(
        page=OF_VERSIONS,
        compared=(title_of(one), title_of(other)),
        versions=(package_versions(one), package_versions(other)),
        rejected=rejected,
    )
    pairs = [p for kind in old if kind in new for p in find_upgrade_pairs(old[kind], new[kind])]
    references = [r for subject in subjects for r in subject.references.all]
    references += OF_ONNX.all if of_onnx else ()
    references += [f"onnxruntime:{CONVERTER}"] if generated else []
    every = [*_backends(pairs), *dict.fromkeys(references)]
    with WorkerPool(every, limits_of(params.execute)) as pool:
        lacking = pool.start()
        works = [pair for pair in pairs if not {*pair} & lacking.keys()]
        lost = {pair.new for pair in pairs if pair.new in lacking and pair.old not in lacking}
        known = {b: lacking[b] for b in _backends(pairs) if b in lacking}
        rejected += [(f"all models in {b}", why) for b, why in known.items() if b in lost]
        found.left_out = {b: why for b, why in known.items() if b not in lost}
        if not works:
            raise UserError("; ".join(f"{b} does not work: {why}" for b, why in lacking.items()))
        subjects += operator_subjects() if operators else ()
        if generated:
            subjects += generate_model_files(generated, request.size, params, pool, rejected)

        def judged(
            subject: ModelFile, _: Mapping[str, Arrays], result: Result
        ) -> list[UpgradeChange]:
            ran = [pair for pair in works if {*pair} <= result.outcomes.keys()]
            if not ran:
                raise UserError(f"not both versions have a way to run {subject.suffix} files")
            kinds = product(ran, result.distributions)
            return [judge_upgrade(subject, result, *kind, params.judge) for kind in kinds]

        run_comparison(found, request, params, pool, subjects, _backends(works), judged)
    return found


def find_upgrade_pairs(old: str, new: str) -> Iterator[UpgradePair]:
    """Every way to run a file, in both versions; another library may have only one of its own.

    Args:
        old: the reader of the version that is left.
        new: that of the other.
    """
    options = {old: file_options_of(old), new: file_options_of(new)}
    more, fewer = sorted(options.values(), key=len, reverse=True)
    for option in more:
        one, other = (option if option in options[n] else fewer[0] for n in (old, new))
        yield UpgradePair(f"{old}:{one}", f"{new}:{other}")


def _backends(pairs: Sequence[UpgradePair]) -> list[str]:
    return list(dict.fromkeys(chain(*pairs)))


def generate_model_files(
    count: int, size: int, params: UpgradeParams, pool: WorkerPool, rejected: NotCompared
) -> Iterator[OnnxModelFile]:
    """Generated models as files; those that the converter makes none of are noted."""
    import onnx

    import_keras("numpy")
    seeds = reduce_models(params.reduce.model_copy(update={"timing_runs": 0}), params.seed)
    alone = params.generate.model_copy(update={"compared": []})
    campaigns = generate(seeds.models, alone, params.seed, reward=nullcontext)
    main = campaigns[params.generate.strategy]
    for index in progress(sorted(main.choose_broadest(count)), label="convert", unit="model"):
        name = f"generated {index:05d}"
        content = pool.converted(Task(index, main.mutants[index].graph, {}), CONVERTER)
        if isinstance(content, ExecutionOutcome):
            rejected.append((name, f"{CONVERTER}: {content.exception} {content.message}"))
            continue
        yield make_subject(name, onnx.load_model_from_string(content), size, {})
