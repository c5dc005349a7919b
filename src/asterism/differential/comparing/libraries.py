"""Comparing all libraries that read a model's file, on the file as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from asterism.config import changed_params
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backends import product_of
from asterism.differential.comparing.comparison import Comparison, Page, Params, Request
from asterism.differential.comparing.judging import findings_of, lacks_reference, within_type
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
from asterism.differential.oracle.finding import FAULTS, RIGHT, STATUSES, Finding
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.reading import read_subjects

PAGE = Page(
    "libraries",
    "findings.json",
    "Do these models compute the same in every library that reads their files?",
    "models with a fault of a library",
    "models show a fault of a library",
    kinds=STATUSES,
    told=FAULTS,
    bad=FAULTS,
)


@dataclass(frozen=True, kw_only=True)
class LibrariesRequest(Request):
    """What a user asks of libraries.

    Args:
        libraries: to run the models, with an environment where one is named; none: all installed.
        environments: libraries beside these, in environments of their own: ``onnxruntime@1.20``.
    """

    libraries: Sequence[str]
    environments: Sequence[str]


def compare_libraries(request: LibrariesRequest, say: Callable[[str], None]) -> Comparison:
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
        found = Comparison(page=PAGE, compared=titles, left_out=pool.start(), rejected=rejected)

        def judged(
            subject: ModelFile, inputs: Mapping[str, Arrays], result: Result
        ) -> list[Change]:
            ended = findings_of(subject, result, params.judge)
            ended = within_type(pool, subject, inputs, ended)
            known = not lacks_reference(subject, result)
            return [_beside(subject.name, one, known) for one in ended]

        found.run(request, params, pool, subjects, backends, judged)
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


def _beside(subject: str, one: Finding, known: bool) -> Change:
    """A finding as the change from a configuration that is right, or back, if none can say so."""
    if not one.agreeing:
        return Change(subject, one, one, status=one.symptom)
    other = one.agreeing[0]
    right = replace(one, symptom=RIGHT, backends=(other,), exception="", message="")
    if known or one.fails:
        return Change(subject, right, one, status=one.symptom)
    return Change(subject, one, right, referee=other, status=one.symptom)
