"""Parameters of vetting a compressed model."""

from __future__ import annotations

import shlex
from operator import attrgetter
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from asterism.core.files.user_files import NO_FILE, File
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.validation import Label
from asterism.dflare.domains import accept_bound, build_domain
from asterism.dflare.params import BoundParams, ComparisonParams, DomainParams, SearchParams
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.vetting.verdict import Thresholds

#: The file of a vetted pair's numbers, beside its page.
CERTIFICATE = "certificate.json"

#: The repaired model, where there is one.
REPAIRED, REPAIRED_PROGRAM = "repaired.onnx", "repaired.pt2"

#: The most that a budget may be: what takes longer is a mistake, or comes from a stranger.
_MOST = 1_000_000

#: The counts that a budget of time cuts.
COUNTS = (
    "limit",
    "changes.inputs",
    "search.seeds",
    "search.queries",
    "repair.evaluations",
    "repair.inputs",
)

#: Options of mutation operators, by the operator's name.
Operators = dict[Label, dict[Label, object]]


class VetChanges(ParameterSection):
    """Natural changes of the given inputs."""

    inputs: int = Field(
        ge=0, le=_MOST, description="inputs that are changed, drawn at random; 0: none"
    )
    strengths: dict[Label, Operators] = Field(
        description="by a strength's name: mutators, with the options that differ from defaults"
    )
    bounds: list[BoundParams] = Field(
        description="limits within which the strongest changes are tried as well"
    )
    slight: Label = Field(description="the strength that the verdict looks at")


class VetSearch(ParameterSection):
    """The search for triggering inputs, on which the models deviate."""

    seeds: int = Field(ge=1, le=_MOST, description="inputs to start from, drawn at random")
    queries: int = Field(ge=1, le=_MOST, description="mutants to evaluate at most for each seed")
    bound: BoundParams | None = Field(description="how far what is found may be from its seed")
    operators: Operators = Field(description="mutators of the search")
    searches: dict[Label, SearchParams] = Field(min_length=1, description="what to run")


class VetRepair(ParameterSection):
    """Localisation of the deviations and repair."""

    evaluations: int = Field(ge=1, le=_MOST, description="candidate graphs to run")
    inputs: int = Field(
        ge=1, le=_MOST, description="deviating inputs that candidates are judged by"
    )
    float_share: float = Field(gt=0, le=1, description="most quantised nodes that may be in float")
    gone: float = Field(gt=0, le=1, description="share of deviations that a repair takes away")


class TriedPreprocessing(ParameterSection):
    """How the original did under one preprocessing of pictures."""

    name: str = Field(description="a file of conf/preprocessing")
    channels: Literal["rgb", "bgr"] = Field(description="the order of colours")
    accuracy: float | None = Field(description="share of inputs that it got right; null: no labels")
    confidence: float | None = Field(description="mean probability of its answer; null: none")


class MatchedOutput(ParameterSection):
    """An output of the original, and the compressed model's corresponding output."""

    original: str = Field(description="its name in the original")
    compressed: str = Field(description="its name in the compressed model")


class VetBudget(ParameterSection):
    """A budget of time that was smaller than what was wanted."""

    minutes: float = Field(gt=0, description="of this run and of those that it goes on from")
    seconds: float = Field(gt=0, description="that both models take for an input")
    changing: float = Field(ge=0, description="seconds that a change of an input takes")
    left_out: str = Field(description="what it leaves out, in words")


class VetParams(ParameterSection):
    """A pair of models, inputs for it, and how it is vetted."""

    source: Literal["none", "files", "objects"] = Field(
        description="none: nothing is vetted; objects: models and arrays of a Python process"
    )
    original: File = Field(description="a model file: .onnx, .tflite, .lite, .keras, .h5 or .pt2")
    compressed: File = Field(description="its compressed version, of any of these formats")
    inputs: File = Field(description="a file or a folder of inputs")
    labels: File = Field(description="a file of labels; none: those of folders or arrays")
    length: int | None = Field(
        ge=1,
        le=2**31 - 1,
        description="numbers of an input, where the model leaves it free; null: the longest",
    )
    fit: Literal["auto", "crop", "pad", "squeeze"] = Field(
        description="of images of another aspect than the model's; auto: crop, where the model's "
        "are long pad"
    )
    limit: int | None = Field(ge=2, description="inputs to take, drawn at random; null: all")
    domain: DomainParams = Field(description="what the inputs are")
    comparison: ComparisonParams = Field(description="how outputs are compared")
    matching: list[MatchedOutput] = Field(
        description="outputs that belong together where neither names nor order tell"
    )
    feeding: FeedingParams = Field(description="what the models get beside an input")
    asked: list[str] = Field(
        description="what the command line said beside the files, so that it can be said again"
    )
    settled: list[str] = Field(description="what was settled by looking at the files, with reasons")
    tried: list[TriedPreprocessing] = Field(
        description="preprocessings that were tried on the original"
    )
    budget: VetBudget | None = Field(
        description="the budget that the counts were cut to; null: they were not"
    )
    confidence: float = Field(gt=0.5, lt=1, description="of all intervals")
    changes: VetChanges = Field(description="natural changes")
    search: VetSearch = Field(description="the search for triggering inputs")
    repair: VetRepair = Field(description="localisation and repair")
    thresholds: Thresholds = Field(description="what the compressed model has to keep")

    @model_validator(mode="after")
    def _all_that_files_need_is_there(self) -> Self:
        if self.source != "none":
            if not self.search.operators:
                raise ValueError("search.operators are empty: choose a kind of inputs, vet=images")
            if self.changes.slight not in self.changes.strengths:
                raise ValueError(f"changes.slight names no strength: {self.changes.slight!r}")
            build_domain(self.domain, self.search.operators)
            for operators in self.changes.strengths.values():
                build_domain(self.domain, operators)
            for bound in (*self.changes.bounds, self.search.bound):
                accept_bound((self.domain, bound))
        return self

    def counterpart(self, output: str) -> str:
        """The name of the compressed model's output that corresponds to one of the original."""
        matching = {pair.original: pair.compressed for pair in self.matching}
        return matching.get(output, output)

    @property
    def goes_on(self) -> bool:
        """Whether a later run continues this one with more inputs and uses its answers."""
        return self.source == "files" and self.budget is not None

    @property
    def files(self) -> tuple[str, ...]:
        """All files of the user that results depend on."""
        return self.original, self.compressed, self.inputs, self.labels

    def commands(self) -> list[str]:
        """The commands that repeat everything: the numbers alone, and the page."""
        if self.source == "objects":
            return [self._call()]
        files = ["asterism", "vet", self.original, self.compressed, "--inputs", self.inputs]
        files += ["--labels", self.labels] if self.label_file else []
        return [shlex.join([*files, *rest]) for rest in (["--check", CERTIFICATE], self._asked())]

    def counts(self) -> dict[str, int | None]:
        """The :data:`COUNTS`, by their names."""
        return {name: attrgetter(name)(self) for name in COUNTS}

    def _asked(self) -> list[str]:
        """What the command line said, with the counts that its minutes came to."""
        if self.budget is None:
            return self.asked
        pairs = zip(self.asked[::2], self.asked[1::2], strict=True)
        said = [word for pair in pairs if pair[0] != "--minutes" for word in pair]
        given = {word.partition("=")[0] for word in said}
        counts = {f"vet.{name}": count for name, count in self.counts().items()}
        cut = [f"{name}={count}" for name, count in counts.items() if name not in given]
        return [*said, *(word for one in cut for word in ("-S", one))]

    def _call(self) -> str:
        """The call in Python, with names for the objects."""
        told = [self.original, self.compressed, self.inputs]
        asked = self._asked()
        pairs = list(zip(asked[::2], asked[1::2], strict=True))
        told += [f"{flag[2:]}={word!r}" for flag, word in pairs if flag[:2] == "--"]
        several = [word for flag, word in pairs if flag == "-S"]
        told += [f"overrides={several}"] if several else []
        return f"asterism.vet({', '.join(told)})"

    @property
    def label_file(self) -> Path | None:
        """The file of labels, None where there is none."""
        return None if self.labels == NO_FILE else Path(self.labels)


class VetStageParams(ParameterSection):
    """The part of ``params.yaml`` that the stages of vetting read."""

    seed: Seed
    vet: VetParams
