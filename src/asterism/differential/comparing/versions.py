"""Comparing two versions of a library on a user's models and on generated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from asterism.config import changed_params
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backends import OF_ONNX, library_of
from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.comparison import (
    Headline,
    Params,
    Request,
    Row,
    SideBySide,
    of_change,
)
from asterism.differential.comparing.explaining import BlameRequest
from asterism.differential.comparing.naming import (
    package_versions,
    readers_of_version,
    title_of,
    ways_of,
)
from asterism.differential.comparing.upgrade import CHANGES, WORSE, Change, Pair, changes_of
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.engine.execution import limits_of
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import RIGHT, UNCHECKED, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import reduce_models
from asterism.differential.subjects.going_on import NotCompared
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.onnx_file import Subject, subject_of
from asterism.differential.subjects.operators import operator_subjects
from asterism.differential.subjects.reading import read_subjects
from asterism.memo.generating.generate import generate
from asterism.memo.graphs.light_keras import import_keras

#: The converter that makes files of generated models.
CONVERTER = "tf2onnx"


class UpgradeParams(Params):
    """What is read of ``params.yaml``."""

    reduce: ReduceParams
    generate: RewardedGenerateParams


@dataclass(frozen=True, kw_only=True)
class UpgradeRequest(Request):
    """What a user asks of an upgrade.

    Args:
        library: under test.
        old: version that is left.
        new: version that is taken.
        generated: number of models to generate beside the user's.
        operators: whether models of one operator each run too.
    """

    library: str
    old: str
    new: str
    generated: int
    operators: bool


def compare_versions(request: UpgradeRequest, say: Callable[[str], None]) -> Upgrade:
    """Run every model in both versions, look for the nodes to blame, and write the page.

    A way to run files that one of the versions lacks is left out.

    Raises:
        UserError: the library, a version or a model is not to be had.
    """
    params = changed_params(UpgradeParams, request.changes, request.root)
    if not (request.models or request.generated or request.operators):
        raise UserError("give --model FILE, a number by --generated, or --operators")
    rejected: NotCompared = []
    subjects = read_subjects(request.models, request.size, request.shapes, rejected)
    of_onnx = [".onnx"] if request.generated or request.operators else []
    formats = {*of_onnx, *(subject.suffix for subject in subjects)}
    readers = [
        readers_of_version(request.library, version, say, formats)
        for version in (request.old, request.new)
    ]
    one, other = (next(iter(names.values())) for names in readers)
    if one == other:
        raise UserError(f"{request.old} and {request.new} are both the {one} that is here")
    found = Upgrade(
        old=title_of(one),
        new=title_of(other),
        versions=(package_versions(one), package_versions(other)),
        rejected=rejected,
    )
    old, new = readers
    pairs = [p for kind in old if kind in new for p in pairs_of(old[kind], new[kind])]
    references = [r for subject in subjects for r in subject.references.all]
    references += OF_ONNX.all if of_onnx else ()
    references += [f"onnxruntime:{CONVERTER}"] if request.generated else []
    every = [*_backends(pairs), *dict.fromkeys(references)]
    with WorkerPool(every, limits_of(params.execute)) as pool:
        found.leave_out(pairs, pool.start())
        subjects += operator_subjects() if request.operators else ()
        subjects += generated_models(request, params, pool, rejected)
        found.run(request, params, pool, subjects, _backends(found.pairs))
    return found


def pairs_of(old: str, new: str) -> Iterator[Pair]:
    """Every way to run a file, in both versions; another library may have only one of its own.

    Args:
        old: the reader of the version that is left.
        new: that of the other.
    """
    ways = {old: ways_of(old), new: ways_of(new)}
    more, fewer = sorted(ways.values(), key=len, reverse=True)
    for option in more:
        one, other = (option if option in ways[n] else fewer[0] for n in (old, new))
        yield Pair(f"{old}:{one}", f"{new}:{other}")


def _backends(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(backend for pair in pairs for backend in (pair.old, pair.new)))


def generated_models(
    request: UpgradeRequest, params: UpgradeParams, pool: WorkerPool, rejected: NotCompared
) -> Iterator[Subject]:
    """Generated models as files; those that the converter makes none of are noted."""
    import onnx

    if not request.generated:
        return
    import_keras("numpy")
    seeds = reduce_models(params.reduce.model_copy(update={"timing_runs": 0}), params.seed)
    alone = params.generate.model_copy(update={"compared": []})
    campaigns = generate(seeds.models, alone, params.seed, reward=nullcontext)
    main = campaigns[params.generate.strategy]
    for index in progress(sorted(main.broadest(request.generated)), label="convert", unit="model"):
        name = f"generated {index:05d}"
        content = pool.converted(Task(index, main.mutants[index].graph, {}), CONVERTER)
        if isinstance(content, ExecutionOutcome):
            rejected.append((name, f"{CONVERTER}: {content.exception} {content.message}"))
            continue
        yield subject_of(name, onnx.load_model_from_string(content), request.size, {})


@dataclass(kw_only=True)
class Upgrade(SideBySide[list[Change]]):
    """What two versions did.

    Args:
        old: name of the version that is left.
        new: name of the version that is taken.
        versions: of the packages in each.
        pairs: the ways to run a file that both have.
    """

    anchor, template, facts = "versions", "versions.html.j2", "changes.json"
    question = "Does the upgrade change what these models compute?"
    kinds = CHANGES

    old: str
    new: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    pairs: Sequence[Pair] = ()

    def leave_out(self, pairs: Sequence[Pair], lacking: Mapping[str, str]) -> None:
        """Keep the ways to run a file that both versions have, and note which ones one lacks.

        Args:
            pairs: all ways.
            lacking: backends that do not work here, and why.

        Raises:
            UserError: they have none in common.
        """
        self.pairs = [pair for pair in pairs if not {pair.old, pair.new} & lacking.keys()]
        known = (backend for backend in _backends(pairs) if backend in lacking)
        self.rejected += [(f"all models in {backend}", lacking[backend]) for backend in known]
        if not self.pairs:
            raise UserError("; ".join(f"{b} does not work: {why}" for b, why in lacking.items()))

    @property
    def changes(self) -> list[Change]:
        """All that is a change, the worst kind first."""
        order = list(CHANGES)
        found = [c for _, changes in self.subjects for c in changes if c.is_change]
        return sorted(found, key=lambda c: (order.index(c.kind), c.subject, c.pair.option))

    @property
    def is_worse(self) -> bool:
        """Whether an upgrade should wait: a change for the worse, or a model left out."""
        names = {path for path, _ in self.rejected} - {s.name for s, _ in self.subjects}
        return any(c.kind in WORSE for c in self.changes) or bool(names)

    def judged(
        self,
        pool: WorkerPool,
        subject: ModelFile,
        inputs: Mapping[str, Arrays],
        result: Result,
        params: JudgeParams,
    ) -> list[Change]:
        """See :class:`SideBySide`."""
        changes = changes_of(subject, result, self.pairs, params)
        if not changes:
            raise UserError(f"not both versions have a way to run {subject.suffix} files")
        return changes

    def asked(self) -> Iterator[BlameRequest]:
        """The worst change of each model and way to run it."""
        seen: set[tuple[str, str]] = set()
        for change in self.changes:
            if (key := (change.subject, change.pair.option)) not in seen:
                seen.add(key)
                libraries = map(library_of, (change.pair.old, change.pair.new))
                named = dict(zip((self.old, self.new), libraries, strict=True))
                yield BlameRequest(change, change.kind, named, headline)

    @property
    def title(self) -> str:  # type: ignore[override]
        """See :class:`SideBySide`."""
        return f"{self.old} beside {self.new}"

    @property
    def headline(self) -> Headline:
        """See :class:`SideBySide`."""
        order = list(CHANGES)
        worst = [min(kinds.values(), key=order.index, default="") for _, kinds in self.worst()]
        changed = {change.subject for change in self.changes}
        return {
            "models that change": (f"{len(changed)} of {len(self.subjects)}", "changes, models"),
            "models that were not compared": (len(self.rejected), "rejected"),
            **{k: (worst.count(k), "compared.kinds") for k in CHANGES if k in worst},
        }

    def done(self, judged: list[Change]) -> Iterator[tuple[str, str]]:
        """See :class:`SideBySide`."""
        return ((change.pair.option, change.kind) for change in judged)

    def rows(self) -> Iterator[Row]:
        """A row for each model and kind of change, by the change that has a script, if any."""
        groups: dict[tuple[str, str], list[Change]] = {}
        for change in self.changes:
            groups.setdefault((change.kind, change.subject), []).append(change)
        for group in groups.values():
            explained = of_change(self.explained, group)[:1]
            change = explained[0].change if explained else group[0]
            answers = zip((self.old, self.new), change.answers, strict=False)
            yield {
                "model": change.subject,
                "where": change.pair.option,
                "kind": change.kind,
                "options": list(dict.fromkeys(c.pair.option for c in group)),
                "inputs": list(dict.fromkeys(c.distribution for c in group)),
                "change": change,
                "answers": list(answers),
                "said": change.said,
                "explained": explained,
            }

    def to_json(self) -> dict[str, Any]:
        """See :class:`SideBySide`."""
        return {
            "old": self.old,
            "new": self.new,
            "versions": list(self.versions),
            "models": len(self.subjects),
            "compared": [
                {"name": subject.name, "nodes": len(subject.nodes), "kinds": worst}
                for subject, worst in self.worst()
            ],
            "changes": [self._facts(change) for change in self.changes],
            "no_reference": self.no_reference,
            "rejected": [list(pair) for pair in self.rejected],
        }

    def _facts(self, change: Change) -> dict[str, Any]:
        """A change as a JSON value, with the part that shows it."""
        one = next((e for e in self.explained if e.change is change), None)
        return {
            "model": change.subject,
            "option": change.pair.option,
            "inputs": change.distribution,
            "kind": change.kind,
            "old": _off(change.old),
            "new": _off(change.new),
            "said": change.said,
            "answers": list(change.answers),
            "nodes": one and one.part.layers,
            "script": one and one.script,
            "statuses": one and [status for _, status in one.statuses],
        }


def headline(part: Part) -> str:
    """What a script is about: the version at fault, what is wrong, and how the other one does."""
    change = part.change
    other = change.pair.old if change.culprit == change.pair.new else change.pair.new
    what = change.at_fault.symptom
    silent = change.kind == "silently wrong"
    same = "" if change.kind in ("both wrong", "differs") else " is right"
    right = " does not run it" if silent else same
    culprit, beside = (title_of(library_of(backend)) for backend in (change.culprit, other))
    return f"{culprit}: {what} in {', '.join(part.layers[:3])} ({beside}{right})"


def _off(finding: Finding) -> list[object] | None:
    """How a version is off, and by how many times its bound; None where it is not, or fails."""
    if finding.fails or finding.symptom in (RIGHT, UNCHECKED):
        return None
    return [finding.symptom, min(finding.excess, 1e30)]
