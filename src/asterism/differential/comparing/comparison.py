"""Models that run side by side in several libraries, or in two versions of one.

A comparison runs every model, says what became of each, looks for the nodes to blame for the worst,
and writes a page with a script for each of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.core.messages.escaping import printable
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.adapters.backend_names import library_of, product_of, suffix_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.comparing.blaming import Blame, ModelPart
from asterism.differential.comparing.judging import (
    lacks_reference,
    run_subject,
)
from asterism.differential.comparing.naming import title_of
from asterism.differential.comparing.upgrade import UpgradeChange
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import (
    BEYOND_TYPE,
    INVALID_INPUTS,
    RIGHT,
    UNCHECKED,
    UNRESOLVED,
    Finding,
)
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.confirming import exit_statuses
from asterism.differential.report.markdown import templates
from asterism.differential.report.script_writer import REPRO
from asterism.differential.subjects.going_on import NotCompared, going_on, require_some
from asterism.differential.subjects.model_files import Arrays, ModelFile
from asterism.differential.subjects.reading import read_inputs
from asterism.report.base.document import render_body, renderer, write_document
from asterism.report.base.section import KeyFigure, ReportSection

#: Characters of a folder's name.
_LONGEST = 60

_render = renderer("asterism.differential.comparing")


class LibraryComparisonParams(ParameterSection):
    """What a comparison reads of ``params.yaml``."""

    seed: Seed
    execute: ExecuteParams
    judge: JudgeParams


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """Which models a user wants to compare, on which inputs, and where the page goes.

    Args:
        models: files.
        shapes: of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        distributions: inputs to draw.
        explained: rows of the page whose nodes are looked for.
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
        """What a model runs on, by the name of the inputs: the user's batch, or what is drawn.

        Models beside the user's files have no batch of the user's.
        """
        if self.inputs is not None and subject.name in {path.stem for path in self.models}:
            return {self.inputs.stem: read_inputs(self.inputs, subject)}
        return {name: subject.draw(seed, name) for name in self.distributions}


@dataclass
class ComparisonRow:
    """What a library does to one model alike, in several ways to run it and on several inputs.

    Args:
        changes: each of them.
        part: the smallest part of the model that shows the worst one; None where it was not looked
            for.
        folder: of the part's script, relative to the page.
        statuses: of the script, by the library that ran it.
    """

    changes: list[UpgradeChange]
    part: ModelPart | None = None
    folder: str = ""
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def change(self) -> UpgradeChange:
        """The worst of the changes."""
        return max(self.changes, key=lambda one: one.at_fault.excess)

    @property
    def confirmed(self) -> bool:
        """Whether the script shows it in the library that is to blame."""
        return self.statuses.get(title_of(self.change.at_fault.library)) == 1

    @property
    def script(self) -> str:
        """Its path, relative to the page."""
        return f"{self.folder}/{REPRO}"

    def to_json(self) -> dict[str, Any]:
        """All that the page says of it, as a JSON value."""
        change, part = self.change, self.part
        found = {
            "model": change.subject,
            "library": change.at_fault.library,
            "kind": change.label,
            "symptom": change.at_fault.symptom,
            "seen": [[one.way, one.distribution] for one in self.changes],
            "old": _off(change.old),
            "new": _off(change.new),
            "apart": min(change.apart, 1e30),
            "said": change.said,
            "answers": [gave for _, gave in change.answers],
        }
        if part is None:
            return found
        blamed = {"nodes": part.layers, "of": part.nodes, "finished": part.finished}
        return found | blamed | {"script": self.script, "statuses": self.statuses}


@dataclass(frozen=True)
class ComparisonPage:
    """What tells the two commands' pages apart.

    Args:
        anchor: of the page's part of the report.
        template: of that part.
        facts: the file of all that was found, beside the page.
        question: that the page answers.
        counted: what is counted of the models.
        summary: of a terminal, what so many models do, with places for the libraries' names.
        kinds: what can become of a model, the worst first.
        told: those that get a row.
        bad: those for which the command ends with 1.
    """

    anchor: str
    template: str
    facts: str
    question: str
    counted: str
    summary: str
    kinds: Sequence[str]
    told: Collection[str]
    bad: Collection[str]


#: What became of a model that ran.
Judging = Callable[[ModelFile, Mapping[str, Arrays], Result], list[UpgradeChange]]


@dataclass(kw_only=True)
class BackendComparison:
    """What is found of all models that run side by side.

    Args:
        page: of the command.
        compared: the libraries, each with its version.
        versions: of the packages in each of two versions.
        subjects: the models, with what became of each.
        no_reference: models that no reference computes, by name, and why.
        rejected: models, ways to run them and nodes to blame that were left out, with the reason.
        left_out: configurations that do not work here, and why.
    """

    page: ComparisonPage
    compared: Sequence[str]
    versions: Sequence[Mapping[str, str]] = ()
    subjects: list[tuple[ModelFile, list[UpgradeChange]]] = field(default_factory=list)
    no_reference: dict[str, str] = field(default_factory=dict)
    rejected: NotCompared = field(default_factory=list)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> list[ComparisonRow]:
        """What is told, the worst first; the same of one library and model is one row."""
        order = self.page.kinds.index
        told = [c for _, changes in self.subjects for c in changes if c.label in self.page.told]
        told.sort(key=lambda change: (order(change.label), change.subject))
        found: dict[tuple[str, ...], ComparisonRow] = {}
        for one in told:
            key = one.label, one.subject, one.at_fault.library, one.at_fault.exception
            found.setdefault(key, ComparisonRow([])).changes.append(one)
        return list(found.values())

    @property
    def unresolved(self) -> list[UpgradeChange]:
        """What nothing decides, once for each model and kind of inputs."""
        undecided = [change for _, change in self._ending(UNRESOLVED)]
        return list({(one.subject, one.distribution): one for one in undecided}.values())

    @property
    def beyond(self) -> Mapping[str, str]:
        """Models whose values their own type cannot hold, by name, and where."""
        return {model.name: one.at_fault.message for model, one in self._ending(BEYOND_TYPE)}

    @property
    def invalid(self) -> Mapping[str, str]:
        """Models that are not to be run on these inputs, and the inputs' shapes."""
        return {
            model.name: " ".join(f"{s.label}={','.join(map(str, s.shape))}" for s in model.inputs)
            for model, _ in self._ending(INVALID_INPUTS)
        }

    def _ending(self, status: str) -> Iterator[tuple[ModelFile, UpgradeChange]]:
        """Each model with what of it has a status."""
        for subject, changes in self.subjects:
            yield from ((subject, one) for one in changes if one.at_fault.symptom == status)

    @property
    def is_bad(self) -> bool:
        """Whether something is wrong, undecided, or could not be compared."""
        names = {path for path, _ in self.rejected} - {s.name for s, _ in self.subjects}
        bad = any(row.change.label in self.page.bad for row in self.rows)
        return bool(bad or self.unresolved or self.invalid or self.beyond or names)

    def worst(self) -> Iterator[tuple[ModelFile, dict[str, str]]]:
        """Each model, with the worst that each way to run it does."""
        for subject, changes in self.subjects:
            worst: dict[str, str] = {}
            for one in changes:
                both = (worst.get(one.way, one.label), one.label)
                worst[one.way] = min(both, key=self.page.kinds.index)
            yield subject, worst

    def told(self) -> list[str]:
        """Lines for a terminal: what was found, and what could not be told."""
        plain = templates(__package__).overlay(finalize=lambda value: printable(str(value)))
        return plain.get_template("told.txt.j2").render(found=self).splitlines()

    def to_json(self) -> dict[str, Any]:
        """All that was found, as a JSON value."""
        return {
            "libraries": list(self.compared),
            "versions": list(self.versions),
            "left_out": dict(self.left_out),
            "models": [
                {"name": subject.name, "nodes": len(subject.nodes), "statuses": worst}
                for subject, worst in self.worst()
            ],
            "findings": [row.to_json() for row in self.rows],
            "unresolved": [
                {"subject": one.subject, "distribution": one.distribution, "answers": one.answers}
                for one in self.unresolved
            ],
            "no_reference": self.no_reference,
            "invalid": self.invalid,
            "beyond": self.beyond,
            "rejected": [list(pair) for pair in self.rejected],
        }

    def run(
        self,
        request: ComparisonRequest,
        params: LibraryComparisonParams,
        pool: WorkerPool,
        subjects: Sequence[ModelFile],
        backends: Sequence[str],
        judge: Judging,
    ) -> None:
        """Run all models, explain the worst of what is found, and write the page.

        Args:
            request: what a user asks.
            params: tolerances, and the seed of what is drawn.
            pool: started workers of the backends and the references.
            subjects: the models.
            backends: each of which runs the models in its files' format.
            judge: says what became of a model, or raises a UserError where nothing can be said.

        Raises:
            UserError: nothing could be compared.
        """
        for subject in progress(subjects, label="compare", unit="model"):
            with going_on(subject.name, self.rejected):
                inputs = request.inputs_of(subject, params.seed)
                readers = [b for b in backends if suffix_of(b) == subject.suffix]
                result = run_subject(pool, subject, inputs, readers)
                changes = judge(subject, inputs, result)
                self.subjects.append((subject, changes))
                if why := lacks_reference(subject, result):
                    self.no_reference[subject.name] = why
        require_some(self.subjects, self.rejected)
        with replacing(request.target) as folder:
            folder.mkdir()
            shown = [row for row in self.rows if row.change.pair.old != row.change.pair.new]
            shown = shown[: request.explained]
            for number, row in enumerate(progress(shown, label="blame", unit="change"), 1):
                change = row.change
                (subject,) = (one for one, _ in self.subjects if one.name == change.subject)
                about = f"the nodes of {subject.name} to blame, {change.culprit}"
                with going_on(about, self.rejected):
                    batch = request.inputs_of(subject, params.seed)[change.distribution]
                    blame = Blame(pool, params.judge, change, subject, batch)
                    part = blame.smallest(request.steps)
                    words = re.sub(r"\W+|_", "-", f"{number:02d} {change.label} {subject.name}")
                    row.part, row.folder = part, words[:_LONGEST].strip("-")
                    (folder / row.folder).mkdir()
                    script = part.write_script(folder / row.folder, part.title, params.judge)
                    row.statuses = _statuses(script, change)
            self.write_page(folder / "index.html", params.judge)
            write_json(folder / self.page.facts, self.to_json())

    def write_page(self, target: Path, params: JudgeParams) -> None:
        """Write the page, by the comparison's own template.

        Args:
            target: an HTML file.
            params: the oracle's tolerances.
        """
        tolerances = {"ulps": f"{params.ulps:g}", "conditioning": f"{params.conditioning:g}"}
        anchor, facts = self.page.anchor, self.page.facts
        body, contents = render_body(_render, self.page.template, anchor, found=self, **tolerances)
        headline = tuple(
            KeyFigure(name, str(value), sources=(f"{facts}: {keys}",))
            for name, value, keys in self.figures()
        )
        given = " beside ".join(self.compared), self.page.question, headline, body
        write_document(target, [ReportSection(anchor, *given, order=0, contents=contents)], "")

    def figures(self) -> Iterator[tuple[str, object, str]]:
        """Figures above the page, each with the keys of the file of facts that it is from."""
        wrong = {row.change.subject for row in self.rows}
        yield self.page.counted, f"{len(wrong)} of {len(self.subjects)}", "findings, models"
        undecided = len({one.subject for one in self.unresolved})
        yield "models on which nothing decides", undecided, "unresolved"
        yield "what was not compared", len(self.rejected), "rejected"
        order = self.page.kinds.index
        worst = [min(kinds.values(), key=order, default="") for _, kinds in self.worst()]
        yield from ((k, worst.count(k), "models.statuses") for k in self.page.kinds if k in worst)


def _statuses(script: Path, change: UpgradeChange) -> dict[str, int]:
    """How a script ends in each of the compared versions of its library, by their titles."""
    libraries = map(library_of, change.pair)
    return {
        title_of(name): exit_statuses(script, 1, interpreter_of(name))[0]
        for name in dict.fromkeys(libraries)
        if product_of(name) == product_of(change.at_fault.library)
    }


def _off(finding: Finding) -> list[object] | None:
    """How a version is off, and by how many times its bound; None where it is not, or fails."""
    if finding.fails or finding.symptom in (RIGHT, UNCHECKED):
        return None
    return [finding.symptom, min(finding.excess, 1e30)]
