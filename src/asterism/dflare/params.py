"""Parameters of pairs, of the search for triggering inputs and of repair."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from asterism.core.files.user_files import File
from asterism.core.parameters.params import PaperSource, ParameterSection
from asterism.core.parameters.validation import Label, accepted_by, named, require_accepted


class PairParams(ParameterSection):
    """An original and its compressed model; the key in ``params.yaml`` names the pair."""

    original: File = Field(
        description="a model file: .keras, .h5, .hdf5, .onnx, .tflite, .lite or .pt2"
    )
    compressed: File = Field(description="a model file of any of these formats")


class SearchParams(ParameterSection):
    """One way to search; its key in ``params.yaml`` names it."""

    accepted_by: ClassVar[str | None] = "asterism.dflare.searches:search_options"

    search: Annotated[
        str, named("asterism.dflare.searches:SEARCHES"), PaperSource("Dflare, Algorithms 1 and 2")
    ] = Field(description="a search of asterism.dflare.searches")
    options: dict[Label, Any] = Field(description="what this search takes, see its Options")


class DomainParams(ParameterSection):
    """The domain of the inputs."""

    accepted_by: ClassVar[str | None] = "asterism.dflare.domains:domain_options"

    kind: Annotated[str, named("asterism.dflare.domains:DOMAINS")] = Field(
        description="a domain of asterism.dflare.domains"
    )
    options: dict[Label, Any] = Field(description="what this domain takes, see its Options")


class ComparisonParams(ParameterSection):
    """How two models' outputs are compared."""

    accepted_by: ClassVar[str | None] = "asterism.dflare.comparisons:comparison_options"

    kind: Annotated[str, named("asterism.dflare.comparisons:COMPARISONS")] = Field(
        description="a comparison of asterism.dflare.comparisons"
    )
    options: dict[Label, Any] = Field(description="what this comparison takes, see its Options")


class BoundParams(ParameterSection):
    """How far a mutant may be from its seed."""

    measure: Label = Field(description="a distance that the domain has, such as linf")
    limit: float = Field(
        description="the farthest that is allowed, in the measure's unit; of a ratio the smallest"
    )


class TriggerParams(ParameterSection):
    """The search for inputs on which a compressed model deviates from its original."""

    seeds: Annotated[int, PaperSource("Dflare, table 4: 500")] = Field(
        ge=1, description="inputs to start from, drawn at random"
    )
    queries: int = Field(ge=1, description="mutants to evaluate at most for each seed")
    seconds: Annotated[float | None, PaperSource("Dflare, table 4: 180")] = Field(
        gt=0, description="ceiling on a seed's time; null: none"
    )
    n_triggers: int = Field(ge=1, description="triggering inputs to find for each seed")
    minimise_queries: int = Field(
        ge=0, description="reversions to try on each triggering input to make it minimal; 0: none"
    )
    bound: BoundParams | None = Field(
        description="how far mutants may be from their seed; null: as far as mutators lead"
    )
    operators: dict[Label, dict[Label, Any]] = Field(
        min_length=1,
        description="mutators of images, with the options that differ from their defaults",
    )
    searches: dict[Label, SearchParams] = Field(min_length=1, description="what to run and compare")

    @field_validator("operators", "bound")
    @classmethod
    def _fits_images(cls, value: Any, info: ValidationInfo) -> Any:
        judge = f"asterism.dflare.domains:accept_{info.field_name}"
        require_accepted(judge, (DomainParams(kind="images", options={}), value))
        return value


class RepairParams(ParameterSection):
    """Repairing a compressed model from its outputs."""

    search: str = Field(
        description="whose triggering inputs to learn from; one of trigger.searches"
    )
    repairers: Annotated[
        dict[Label, dict[Label, Any]], accepted_by("asterism.dflare.repairers:repairer_options")
    ] = Field(min_length=1, description="repairers to compare, each with its options")
    folds: Annotated[int, PaperSource("Drepair, section 5.5")] = Field(
        ge=2, description="parts of the cross-validation"
    )
    repeats: Annotated[int, PaperSource("Drepair, section 5.5")] = Field(
        ge=1, description="repetitions of it, each with another random seed"
    )
