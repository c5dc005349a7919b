"""Comparing all libraries that read a model's file, on the file as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from asterism.config import changed_params
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backends import product_of
from asterism.differential.comparing.answers import Unresolved, unresolved_of
from asterism.differential.comparing.beyond_type import within_type
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
from asterism.differential.comparing.judging import findings_of, judge_of_file
from asterism.differential.comparing.naming import (
    installed,
    made,
    named_version,
    readers_of,
    title_of,
    ways_of,
)
from asterism.differential.comparing.upgrade import Change
from asterism.differential.engine.execution import limits_of
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import (
    BEYOND_TYPE,
    INVALID_INPUTS,
    RIGHT,
    STATUSES,
    UNRESOLVED,
    Finding,
)
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.reading import read_subjects


@dataclass(frozen=True, kw_only=True)
class LibrariesRequest(Request):
    """What a user asks of libraries.

    Args:
        libraries: to run the models, with an environment where one is named; none: all installed.
        environments: libraries beside these, in environments of their own: ``onnxruntime@1.20``.
    """

    libraries: Sequence[str]
    environments: Sequence[str]


def compare_libraries(request: LibrariesRequest, say: Callable[[str], None]) -> Standing:
    """Run every model in every library that reads its file, explain faults, and write the page.

    Raises:
        UserError: a library or a model is not to be had.
    """
    params = changed_params(Params, request.changes, request.root)
    if not request.models:
        raise UserError("give --model FILE, as often as there are models")
    rejected: NotCompared = []
    subjects = read_subjects(request.models, request.size, request.shapes, rejected)
    libraries = _libraries(request, {subject.suffix for subject in subjects}, say, rejected)
    backends = [f"{library}:{way}" for library in libraries for way in ways_of(library)]
    references = dict.fromkeys(r for subject in subjects for r in subject.references.all)
    with WorkerPool([*backends, *references], limits_of(params.execute)) as pool:
        titles = [title_of(library) for library in libraries]
        found = Standing(libraries=titles, left_out=pool.start(), rejected=rejected)
        found.run(request, params, pool, subjects, backends)
    return found


def _libraries(
    request: LibrariesRequest, formats: set[str], say: Callable[[str], None], rejected: NotCompared
) -> list[str]:
    """The libraries that are asked for; each environment is made where it is missing."""
    own = [name for name in readers_of(formats) if installed(name)]
    names = [*(request.libraries or own), *request.environments]
    pairs = [(product_of(name), name.partition("@")[2]) for name in names]
    found = []
    for name in dict.fromkeys(named_version(*pair, formats) for pair in pairs):
        with going_on(name, rejected):
            found.append(made(name, say))
    require_some(found, rejected)
    return found


@dataclass(kw_only=True)
class Standing(SideBySide[list[Finding]]):
    """What all libraries did.

    Args:
        libraries: that ran the models, each with its version.
        unresolved: all that nothing decides.
    """

    anchor, template, facts = "libraries", "libraries.html.j2", "findings.json"
    title = "Libraries side by side"
    question = "Do these models compute the same in every library that reads their files?"
    kinds = STATUSES

    libraries: Sequence[str]
    unresolved: list[Unresolved] = field(default_factory=list)

    @property
    def faults(self) -> list[tuple[str, Finding]]:
        """All that is a library's fault, with the model's name, the worst first."""
        found = [(name, one) for name, one in self._findings if one.is_fault]
        return sorted(found, key=lambda f: (STATUSES.index(f[1].symptom), f[0], -f[1].excess))

    @property
    def _findings(self) -> list[tuple[str, Finding]]:
        return [(subject.name, one) for subject, found in self.subjects for one in found]

    @property
    def beyond(self) -> Mapping[str, str]:
        """Models whose values their own type cannot hold, by name, and where."""
        return {name: one.message for name, one in self._findings if one.symptom == BEYOND_TYPE}

    @property
    def invalid(self) -> Mapping[str, str]:
        """Models that are not to be run on these inputs, and the inputs' shapes."""
        found = {}
        for subject, judged in self.subjects:
            if any(one.symptom == INVALID_INPUTS for one in judged):
                shapes = (f"{s.label}={','.join(map(str, s.shape))}" for s in subject.inputs)
                found[subject.name] = " ".join(shapes)
        return found

    def judged(
        self,
        pool: WorkerPool,
        subject: ModelFile,
        inputs: Mapping[str, Arrays],
        result: Result,
        params: JudgeParams,
    ) -> list[Finding]:
        """See :class:`SideBySide`."""
        found = findings_of(subject, result, params)
        open_on = {one.distributions[0]: None for one in found if one.symptom == UNRESOLVED}
        self.unresolved += [
            unresolved_of(subject.name, judge_of_file(subject, result, name, params))
            for name in open_on
        ]
        return within_type(pool, subject, inputs, found)

    def asked(self) -> Iterator[BlameRequest]:
        """One fault of each model, library and kind."""
        subjects = {subject.name: subject for subject, _ in self.subjects}
        seen: set[tuple[str, ...]] = set()
        for name, one in self.faults:
            key = (name, one.library, one.symptom, one.exception)
            if one.agreeing and key not in seen:
                seen.add(key)
                change = _beside(subjects[name], one, name in self.no_reference)
                title = title_of(one.library)
                words = f"{one.library} {one.symptom}"
                yield BlameRequest(change, words, {title: one.library}, partial(_title, one, title))

    @property
    def headline(self) -> Headline:
        """See :class:`SideBySide`."""
        wrong = {name for name, _ in self.faults}
        confirmed = sum(one.confirmed for one in self.explained)
        return {
            "models with a fault of a library": (
                f"{len(wrong)} of {len(self.subjects)}",
                "faults, models",
            ),
            "models on which nothing decides": (
                len({one.subject for one in self.unresolved}),
                "unresolved",
            ),
            "faults with a script that shows them": (
                f"{confirmed} of {len(self.explained)}",
                "faults.status",
            ),
        }

    def done(self, judged: list[Finding]) -> Iterator[tuple[str, str]]:
        """See :class:`SideBySide`."""
        return ((one.backends[0], one.symptom) for one in judged)

    def rows(self) -> Iterator[Row]:
        """A row for each model, library and kind of fault."""
        groups: dict[tuple[str, str, str], list[Finding]] = {}
        for name, one in self.faults:
            groups.setdefault((name, one.library, one.symptom), []).append(one)
        for (name, library, kind), faults in groups.items():
            yield {
                "model": name,
                "where": library,
                "kind": kind,
                "backends": list(dict.fromkeys(fault.backends[0] for fault in faults)),
                "inputs": list(dict.fromkeys(fault.distributions[0] for fault in faults)),
                "times": 1e30 if faults[0].fails else min(faults[0].excess, 1e30),
                "answers": (),
                "said": faults[0].said,
                "explained": of_change(self.explained, faults),
            }

    def to_json(self) -> dict[str, Any]:
        """See :class:`SideBySide`."""
        return {
            "libraries": list(self.libraries),
            "left_out": dict(self.left_out),
            "models": [
                {"name": subject.name, "nodes": len(subject.nodes), "statuses": worst}
                for subject, worst in self.worst()
            ],
            "faults": [_fault(row) for row in self.rows()],
            "unresolved": [asdict(one) for one in self.unresolved],
            "no_reference": self.no_reference,
            "invalid": self.invalid,
            "beyond": self.beyond,
            "rejected": [list(pair) for pair in self.rejected],
        }


def _fault(row: Row) -> dict[str, Any]:
    """A row as a JSON value."""
    parts = [
        {
            "layers": one.part.layers,
            "of": one.part.nodes,
            "finished": one.part.finished,
            "script": one.script,
            "status": one.statuses[0][1],
        }
        for one in row["explained"]
    ]
    names = ("model", "kind", "backends", "inputs", "times", "said")
    return {"library": row["where"], "parts": parts} | {name: row[name] for name in names}


def _title(one: Finding, title: str, part: Part) -> str:
    return f"{title}: {one.symptom} in {', '.join(part.layers[:3])}"


def _beside(subject: ModelFile, one: Finding, unknown: bool) -> Change:
    """A fault as the change from a configuration that is right to it; or back, if none can say."""
    other = one.agreeing[0]
    right = replace(one, symptom=RIGHT, backends=(other,), exception="", message="")
    if unknown and not one.fails:
        return Change(subject.name, one, right, referee=other)
    return Change(subject.name, right, one)
