"""Models that run side by side in several libraries, or in two versions of one: what both share.

A comparison runs every model, says what became of each, looks for the nodes to blame for the worst,
and writes a page with a script for each of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.adapters.backends import suffix_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.comparing.blaming import Blame
from asterism.differential.comparing.explaining import BlamedChange, BlameRequest, write_part
from asterism.differential.comparing.judging import lacks_reference, run_subject
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.confirming import exit_statuses
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.reading import given_inputs
from asterism.report.base.document import render_body, renderer, write_document
from asterism.report.base.section import KeyFigure, ReportSection

#: What becomes of one model.
T = TypeVar("T")

#: Figures and the keys that they are from, by what they count; what a row of the page tells.
Headline = Mapping[str, tuple[object, str]]
Row = Mapping[str, Any]

_render = renderer("asterism.differential.comparing")


class Params(ParameterSection):
    """What is read of ``params.yaml``."""

    seed: Seed
    execute: ExecuteParams
    judge: JudgeParams


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks.

    Args:
        models: files.
        shapes: of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        distributions: inputs to draw.
        explained: changes or faults whose nodes are looked for.
        steps: parts tried for each of them.
        target: folder of the page; replaced.
        changes: of parameters, as ``-S`` takes them.
        root: the project whose parameters count.
    """

    models: Sequence[Path]
    shapes: Mapping[str, tuple[int, ...]]
    size: int
    inputs: Path | None
    distributions: Sequence[str]
    explained: int
    steps: int
    target: Path
    changes: Sequence[str] = ()
    root: Path = Path()

    def inputs_of(self, subject: ModelFile, seed: int) -> dict[str, Arrays]:
        """What a model runs on, by the name of the inputs."""
        return given_inputs(subject, self.models, self.inputs, self.distributions, seed)


@dataclass(kw_only=True)
class SideBySide(ABC, Generic[T]):
    """What is found of all models that run side by side.

    Args:
        subjects: the models, with what became of each.
        no_reference: models that no reference computes, by name, and why.
        explained: changes or faults, with the parts that show them.
        rejected: models, ways to run them and nodes to blame that were left out, with the reason.
        left_out: configurations that do not work here, and why.
    """

    #: The page's part of the report and its template; the file of all that was found beside it.
    anchor: ClassVar[str]
    template: ClassVar[str]
    facts: ClassVar[str]
    #: What the page is called, and the question that it answers.
    title: ClassVar[str]
    question: ClassVar[str]
    #: What can become of a model, the worst first.
    kinds: ClassVar[Collection[str]]

    subjects: list[tuple[ModelFile, T]] = field(default_factory=list)
    no_reference: dict[str, str] = field(default_factory=dict)
    explained: list[BlamedChange] = field(default_factory=list)
    rejected: NotCompared = field(default_factory=list)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @abstractmethod
    def judged(
        self,
        pool: WorkerPool,
        subject: ModelFile,
        inputs: Mapping[str, Arrays],
        result: Result,
        params: JudgeParams,
    ) -> T:
        """What became of a model that ran.

        Raises:
            UserError: nothing can be said of it.
        """

    @abstractmethod
    def asked(self) -> Iterator[BlameRequest]:
        """What is worth looking for nodes to blame, the worst first."""

    @property
    @abstractmethod
    def headline(self) -> Headline:
        """Figures above the page, each with the keys of :attr:`facts` that it is from."""

    @abstractmethod
    def done(self, judged: T) -> Iterator[tuple[str, str]]:
        """The ways to run a model, and what each did with it, of :attr:`kinds`."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """The rows of the page, the worst first."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All that was found, as a JSON value."""

    def worst(self) -> Iterator[tuple[ModelFile, dict[str, str]]]:
        """Each model, with the worst that each way to run it does."""
        order = list(self.kinds)
        for subject, judged in self.subjects:
            worst: dict[str, str] = {}
            for way, kind in self.done(judged):
                worst[way] = min(worst.get(way, kind), kind, key=order.index)
            yield subject, worst

    def ways(self) -> list[str]:
        """All ways by which some model was run."""
        return list(dict.fromkeys(way for _, worst in self.worst() for way in worst))

    def run(
        self,
        request: Request,
        params: Params,
        pool: WorkerPool,
        subjects: Sequence[ModelFile],
        backends: Sequence[str],
    ) -> None:
        """Run all models, explain the worst of what is found, and write the page.

        Args:
            request: what a user asks.
            params: tolerances, and the seed of what is drawn.
            pool: started workers of the backends and the references.
            subjects: the models.
            backends: each of which runs the models in its files' format.

        Raises:
            UserError: nothing could be compared.
        """
        for subject in progress(subjects, label="compare", unit="model"):
            with going_on(subject.name, self.rejected):
                inputs = request.inputs_of(subject, params.seed)
                readers = [b for b in backends if suffix_of(b) == subject.suffix]
                result = run_subject(pool, subject, inputs, readers)
                judged = self.judged(pool, subject, inputs, result, params.judge)
                self.subjects.append((subject, judged))
                if why := lacks_reference(subject, result):
                    self.no_reference[subject.name] = why
        require_some(self.subjects, self.rejected)
        with replacing(request.target) as folder:
            folder.mkdir()
            self._explain(request, params, pool, folder)
            self.write_page(folder / "index.html", params.judge)
            write_json(folder / self.facts, self.to_json())

    def _explain(self, request: Request, params: Params, pool: WorkerPool, folder: Path) -> None:
        """Find the smallest part of each of the worst changes, and run its script."""
        named = {subject.name: subject for subject, _ in self.subjects}
        asked = list(islice(self.asked(), request.explained))
        for number, one in enumerate(progress(asked, label="blame", unit="change"), 1):
            change, subject = one.change, named[one.change.subject]
            with going_on(f"the nodes of {subject.name} to blame, {change.culprit}", self.rejected):
                inputs = request.inputs_of(subject, params.seed)[change.distribution]
                blame = Blame(pool, params.judge, change, subject, inputs)
                part = blame.smallest(request.steps)
                words = f"{number:02d} {one.words} {subject.name}"
                script = write_part(part, folder, words, one.title(part), params.judge)
                statuses = tuple(
                    (name, exit_statuses(script, 1, interpreter_of(library))[0])
                    for name, library in one.libraries.items()
                )
                self.explained.append(BlamedChange(change, part, script.parent.name, statuses))

    def write_page(self, target: Path, params: JudgeParams) -> None:
        """Write the page, by the comparison's own template.

        Args:
            target: an HTML file.
            params: the oracle's tolerances.
        """
        tolerances = {"ulps": f"{params.ulps:g}", "conditioning": f"{params.conditioning:g}"}
        body, contents = render_body(_render, self.template, self.anchor, found=self, **tolerances)
        headline = tuple(
            KeyFigure(name, str(value), sources=(f"{self.facts}: {keys}",))
            for name, (value, keys) in self.headline.items()
        )
        section = ReportSection(
            self.anchor, self.title, self.question, headline, body, order=0, contents=contents
        )
        write_document(target, [section], "")


def of_change(explained: Sequence[BlamedChange], changes: Sequence[Any]) -> list[BlamedChange]:
    """Those of some changes, or of some findings that are at fault in one."""
    return [e for e in explained if any(c in (e.change, e.change.at_fault) for c in changes)]
