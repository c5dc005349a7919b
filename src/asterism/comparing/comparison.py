"""Models that run side by side in several libraries, or in two versions of one: what is found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from asterism.comparing.blaming import ModelPart
from asterism.comparing.cases import ComparisonCase
from asterism.comparing.libraries import title_of
from asterism.core.messages.escaping import printable
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.oracle.finding import BEYOND_TYPE, INVALID_INPUTS, UNRESOLVED
from asterism.differential.params import ExecuteParams, JudgeParams
from asterism.differential.report.script_writer import REPRO
from asterism.differential.report.texts import template_environment
from asterism.differential.subjects import Arrays, ModelFile
from asterism.differential.subjects.reading import NotCompared, read_inputs


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
        shapes: the shapes of inputs by name.
        size: stands for free sizes.
        inputs: an ``.npz`` with a batch for each model; None: inputs are drawn.
        distributions: inputs to draw.
        explained: rows of the page whose nodes are looked for.
        steps: parts tried for each of them.
        target: folder of the page; replaced.
        changes: the changes of parameters, as ``-S`` takes them.
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
        cases: each of them.
        part: the smallest part of the model that shows the worst one; None where it was not looked
            for.
        folder: the folder of the part's script, relative to the page.
        statuses: the statuses of the script, by the library that ran it.
    """

    cases: list[ComparisonCase]
    part: ModelPart | None = None
    folder: str = ""
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def worst(self) -> ComparisonCase:
        """The case that is farthest off."""
        return max(self.cases, key=lambda one: one.at_fault.excess)

    @property
    def confirmed(self) -> bool:
        """Whether the script shows the fault in the library that is to blame."""
        return self.statuses.get(title_of(self.worst.at_fault.library)) == 1

    @property
    def script(self) -> str:
        """The path of the script, relative to the page."""
        return f"{self.folder}/{REPRO}"

    def to_json(self) -> dict[str, Any]:
        """All that the page says of it, as a JSON value."""
        worst, part = self.worst, self.part
        found = {
            "model": worst.subject,
            "library": worst.at_fault.library,
            "kind": worst.kind,
            "symptom": worst.at_fault.symptom,
            "seen": [[case.variant, case.distribution] for case in self.cases],
            **worst.measures(),
            "said": worst.said,
            "answers": [answer for _, answer in worst.answers],
        }
        if part is None:
            return found
        blamed = {"nodes": part.layers, "of": part.nodes, "finished": part.finished}
        return found | blamed | {"script": self.script, "statuses": self.statuses}


@dataclass(frozen=True)
class ComparisonPage:
    """The differences between the two commands' pages.

    Args:
        anchor: the anchor of the page's part of the report.
        template: the template of that part.
        facts: the file of all that was found, beside the page.
        question: the question that the page answers.
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


@dataclass(kw_only=True)
class BackendComparison:
    """What is found of all models that run side by side.

    Args:
        page: the page of the command.
        compared: the libraries, each with its version.
        versions: the versions of the packages in each of two versions.
        subjects: the models, with what became of each.
        no_reference: models that no reference computes, by name, and why.
        rejected: models, ways to run them and nodes to blame that were left out, with the reason.
        left_out: configurations that do not work here, and why.
    """

    page: ComparisonPage
    compared: Sequence[str]
    versions: Sequence[Mapping[str, str]] = ()
    subjects: list[tuple[ModelFile, list[ComparisonCase]]] = field(default_factory=list)
    no_reference: dict[str, str] = field(default_factory=dict)
    rejected: NotCompared = field(default_factory=list)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> list[ComparisonRow]:
        """The rows of the page, the worst first; equal faults of a library and model share one."""
        order = self.page.kinds.index
        told = [c for _, cases in self.subjects for c in cases if c.kind in self.page.told]
        told.sort(key=lambda case: (order(case.kind), case.subject))
        found: dict[tuple[str, ...], ComparisonRow] = {}
        for case in told:
            key = case.kind, case.subject, case.at_fault.library, case.at_fault.exception
            found.setdefault(key, ComparisonRow([])).cases.append(case)
        return list(found.values())

    @property
    def unresolved(self) -> list[ComparisonCase]:
        """What nothing decides, once for each model and kind of inputs."""
        undecided = [case for _, case in self._ending(UNRESOLVED)]
        return list({(case.subject, case.distribution): case for case in undecided}.values())

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

    def _ending(self, status: str) -> Iterator[tuple[ModelFile, ComparisonCase]]:
        """Each model with what of it has a status."""
        for subject, cases in self.subjects:
            yield from ((subject, case) for case in cases if case.at_fault.symptom == status)

    @property
    def is_bad(self) -> bool:
        """Whether something is wrong, undecided, or could not be compared."""
        names = {path for path, _ in self.rejected} - {s.name for s, _ in self.subjects}
        bad = any(row.worst.kind in self.page.bad for row in self.rows)
        return bool(bad or self.unresolved or self.invalid or self.beyond or names)

    def worst(self) -> Iterator[tuple[ModelFile, dict[str, str]]]:
        """Each model, with the worst that each way to run it does."""
        for subject, cases in self.subjects:
            worst: dict[str, str] = {}
            for case in cases:
                both = (worst.get(case.variant, case.kind), case.kind)
                worst[case.variant] = min(both, key=self.page.kinds.index)
            yield subject, worst

    def lines(self) -> list[str]:
        """Lines for a terminal: what was found, and what could not be decided."""
        plain = template_environment(__package__).overlay(
            finalize=lambda value: printable(str(value))
        )
        return plain.get_template("lines.txt.j2").render(found=self).splitlines()

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

    def figures(self) -> Iterator[tuple[str, object, str]]:
        """Figures above the page, each with the keys of the file of facts that it is from."""
        wrong = {row.worst.subject for row in self.rows}
        yield self.page.counted, f"{len(wrong)} of {len(self.subjects)}", "findings, models"
        undecided = len({one.subject for one in self.unresolved})
        yield "models on which nothing decides", undecided, "unresolved"
        yield "what was not compared", len(self.rejected), "rejected"
        order = self.page.kinds.index
        worst = [min(kinds.values(), key=order, default="") for _, kinds in self.worst()]
        yield from ((k, worst.count(k), "models.statuses") for k in self.page.kinds if k in worst)
