"""Claims of the papers, and tables of them, as data: files of ``results/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import configure
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.settings.yaml_files import read_yaml
from asterism.reproduction.records import Quantity, RecordedRun, estimate
from asterism.reproduction.rules import RULES, ClaimVerdict, Outcome, Rule

#: Where claims and tables lie in the project.
CLAIMS, TABLES = Path("results/claims"), Path("results/tables")

#: What is less probable than this by a paper's figure speaks against the figure.
SURPRISING = 0.05

Section = TypeVar("Section", bound=ParameterSection)

#: Stands in the names of numbers for each measure of a claim's ``least_of``.
EACH = "EACH"

#: The outcomes, those that serve a claim least first.
_WORST_FIRST = (
    Outcome.NOT_COMPARABLE,
    Outcome.NOT_REPRODUCED,
    Outcome.NOT_DECIDED,
    Outcome.PARTLY,
    Outcome.REPRODUCED,
)

#: What known answers of released tools, which are no statements of a paper, are filed under.
RELEASED_TOOLS = "released tools"

Paper = Literal["Dflare", "DeepStellar", "DeepImportance", "MEMO", "released tools"]


class Claim(ParameterSection):
    """One thing that a paper says, and how it is judged."""

    id: str = Field(description="names it for good")
    text: str = Field(description="the claim in words")
    source: str = Field(description="table, figure or section")
    quantity: str = Field(description="what is counted, with its unit")
    paper: float | None = Field(default=None, description="the paper's value; null: none is given")
    runs: list[Quantity] = Field(
        default=[],
        description="whose numbers: of several experiments, each gives the mean of its points",
    )
    compared: list[Quantity] = Field(
        default=[], description="for rules that compare: the same experiments' other numbers"
    )
    least_of: list[str] = Field(
        default=[],
        description="what EACH stands for in the names of numbers, where the paper has several "
        "measures: the claim is judged by each, and the least good verdict holds",
    )
    trials: str | None = Field(
        default=None,
        description="where the number is a percentage: a metric of the same points, how many "
        "trials it is of",
    )
    rule: str | None = Field(default=None, description="one of asterism.reproduction.rules")
    options: dict[str, Any] = Field(default={}, description="what this rule takes")
    not_comparable: str | None = Field(default=None, description="why nothing here compares")
    cause: Literal["ours", "scale", "paper", "unknown"] | None = Field(
        default=None,
        description="why a claim is not reproduced: a method of this project, the size of the "
        "run, the paper's own statement, or something that has not been found",
    )
    why: str = Field(default="", description="what is known of that cause")

    @model_validator(mode="after")
    def _has_a_rule_or_a_reason(self) -> Self:
        if (self.rule is None) == (self.not_comparable is None):
            raise ValueError(f"{self.id} needs either a rule or why it is not comparable")
        if self.trials is not None and self.paper is None:
            raise ValueError(f"{self.id} has trials and no percentage of the paper's")
        if (self.cause is None) != (not self.why):
            raise ValueError(f"{self.id} needs both a cause and why, or neither")
        if any(EACH in q.value for q in (*self.runs, *self.compared)) != bool(self.least_of):
            raise ValueError(f"{self.id} needs both least_of and {EACH} in its numbers, or neither")
        rule = self.judged_by
        if rule is not None and not (self.runs and rule.takes_two == bool(self.compared)):
            raise ValueError(f"{self.id} does not give what its rule {self.rule} compares")
        return self

    @cached_property
    def judged_by(self) -> Rule | None:
        """The rule with its options; None where nothing here compares."""
        return None if self.rule is None else configure(RULES, self.rule, self.options)

    def measured_by(self, name: str) -> Claim:
        """The claim by one of its measures, whose name stands in the place of :data:`EACH`."""
        runs, compared = (
            [quantity.named(EACH, name) for quantity in side] for side in (self.runs, self.compared)
        )
        return self.model_copy(update={"runs": runs, "compared": compared, "least_of": []})

    def words(self) -> str:
        """The rule in words; empty where there is none."""
        rule = self.judged_by
        return "" if rule is None else rule.words()


class ClaimFile(ParameterSection):
    """Claims of one paper."""

    paper: Paper
    claims: list[Claim]


def read_files(kind: type[Section], folder: Path) -> Iterator[tuple[Path, Section]]:
    """The YAML files of a folder in the order of their names, each with what it holds.

    Raises:
        UserError: a file is not as it should be.
    """
    for path in sorted(folder.glob("*.yaml")):
        document = read_yaml(path)
        if not isinstance(document, dict):
            raise UserError(f"{path} holds no mapping of names to values")
        yield path, validate(kind, document, source=str(path))


def read_claims(folder: Path = CLAIMS) -> dict[str, list[Claim]]:
    """The claims of each paper, of which several files may tell.

    Raises:
        UserError: a file is not as it should be, or two claims have one name.
    """
    found: dict[str, list[Claim]] = {}
    names: set[str] = set()
    for path, file in read_files(ClaimFile, folder):
        for claim in file.claims:
            if claim.id in names:
                raise UserError(f"{path}: two claims are called {claim.id}")
            names.add(claim.id)
        found.setdefault(file.paper, []).extend(file.claims)
    return found


def judge_claim(claim: Claim, runs: Mapping[str, RecordedRun]) -> ClaimVerdict:
    """The verdict on a claim by the recorded runs; of several measures the least good one."""
    if not claim.least_of:
        return _judge(claim, runs)
    verdicts = [_judge(claim.measured_by(name), runs) for name in claim.least_of]
    told = zip(claim.least_of, verdicts, strict=True)
    return ClaimVerdict(
        min((verdict.outcome for verdict in verdicts), key=_WORST_FIRST.index),
        "; ".join(f"of {name}: {verdict.reason}" for name, verdict in told),
    )


def _judge(claim: Claim, runs: Mapping[str, RecordedRun]) -> ClaimVerdict:
    rule = claim.judged_by
    if rule is None:
        return ClaimVerdict(Outcome.NOT_COMPARABLE, claim.not_comparable or "")
    sides = [[q.sample(runs) for q in side] for side in (claim.runs, claim.compared)]
    missing = [q.experiment for q in claim.runs if q.experiment not in runs]
    if missing:
        return ClaimVerdict(
            Outcome.NOT_COMPARABLE, f"no run yet of {', '.join(sorted(set(missing)))}"
        )
    smoke = [q.experiment for q in claim.runs if runs[q.experiment].scale == "smoke"]
    if smoke:
        named = ", ".join(sorted(set(smoke)))
        return ClaimVerdict(Outcome.NOT_COMPARABLE, f"only a smoke run of {named}, on other data")
    for quantity, sample in zip(chain(claim.runs, claim.compared), chain(*sides), strict=True):
        if not sample:
            return ClaimVerdict(Outcome.NOT_COMPARABLE, quantity.why_none(runs))
    sample, other = (_together(side, bool(claim.compared)) for side in sides)
    if claim.trials is not None and set(sample) == {100.0}:
        trials = claim.runs[0].model_copy(update={"value": claim.trials, "times": 1.0})
        told, p = _none_fails(claim.paper, sum(trials.sample(runs)))
        if p > SURPRISING:
            return ClaimVerdict(Outcome.NOT_DECIDED, told)
    if rule.takes_two and len(sample) != len(other):
        return ClaimVerdict(Outcome.NOT_COMPARABLE, "not all runs have measured both numbers")
    return rule.judge(claim.paper, sample, other)


def _none_fails(percent: float | None, trials: float) -> tuple[str, float]:
    """That no trial failed, and the binomial probability of it by the paper's percentage."""
    assert percent is not None
    p = (percent / 100) ** trials
    return f"none of {trials:,.0f} fails, which has p = {p:.3g} if {percent:g}% succeed", p


def _together(samples: list[list[float]], paired: bool) -> list[float]:
    """One sample: the points of all experiments, or the mean of each where there are several."""
    if paired or len(samples) == 1:
        return [value for sample in samples for value in sample]
    return [estimate(sample).mean for sample in samples]


class Column(ParameterSection):
    """A column of a paper's table."""

    paper: str | None = Field(
        default=None, description="its name in the CSV file; null: the paper has none"
    )
    title: str = Field(description="what it is called on the page")
    value: str | None = Field(
        default=None, description="a metric in which PAIR stands for the row's; null: not measured"
    )
    over: str | None = None
    times: float = 1.0
    where: dict[str, str] = Field(
        default={}, description="parameters of the points, beside those of the row"
    )
    drawn: bool = Field(default=False, description="whether it is drawn as well")


class Row(ParameterSection):
    """The runs that answer a row of a paper's table."""

    row: str = Field(description="the row's first cells, with a slash between each two")
    experiments: list[str] = Field(description="the first that has measured a column counts")
    pair: str = Field(description="the pair's name in the experiments")
    where: dict[str, str] = Field(default={}, description="parameters of the points")


class PaperTable(ParameterSection):
    """A table of a paper, and how its rows and columns are found in the recorded runs."""

    title: str
    paper: Paper
    file: str = Field(description="its CSV file in results/papers")
    keys: list[str] = Field(description="columns that name a row")
    columns: list[Column]
    rows: list[Row]
    sizes: list[str] = Field(
        default=[],
        description="metrics in which PAIR stands for the row's: the first recorded one is the "
        "number of a run's seeds",
    )
    not_run: str = Field(description="why the other rows have no run")
    note: str = ""


def read_tables(folder: Path = TABLES) -> list[PaperTable]:
    """The tables in the order of their files' names.

    Raises:
        UserError: a file is not as it should be.
    """
    return [table for _, table in read_files(PaperTable, folder)]
