"""Parameters of pairs, of the search for triggering inputs and of repair."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.labels import Label
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import accepted_by, named


class PairParams(ParameterSection):
    """An original and its compressed model; the key in ``params.yaml`` names the pair."""

    original: File = Field(
        description="a model file: .keras, .h5, .hdf5, .onnx, .tflite, .lite or .pt2"
    )
    compressed: File = Field(description="a model file of any of these formats")


class SearchParams(ParameterSection):
    """One way to search; its key in ``params.yaml`` names it."""

    accepted_by: ClassVar[str | None] = "asterism.dflare.searches:search_options"

    search: Annotated[str, named("asterism.dflare.searches:SEARCHES")] = Field(
        description="a search of asterism.dflare.searches"
    )
    options: dict[Label, Any] = Field(description="what this search takes, see its Options")


class TriggerParams(ParameterSection):
    """The search for inputs on which a compressed model deviates from its original."""

    seeds: int = Field(ge=1, description="inputs to start from, drawn at random")
    queries: int = Field(ge=1, description="mutants to evaluate at most for each seed")
    seconds: float | None = Field(
        gt=0, description="ceiling on a seed's time (the paper: 180); null: none"
    )
    n_triggers: int = Field(ge=1, description="triggering inputs to find for each seed")
    minimise_queries: int = Field(
        ge=0, description="reversions to try on each triggering input to make it minimal; 0: none"
    )
    operators: Annotated[
        dict[Label, dict[Label, Any]], accepted_by("asterism.images.mutator:build_mutators")
    ] = Field(
        min_length=1, description="mutators, with the options that differ from their defaults"
    )
    searches: dict[Label, SearchParams] = Field(min_length=1, description="what to run and compare")


class RepairParams(ParameterSection):
    """Repairing a compressed model from its outputs."""

    search: str = Field(
        description="whose triggering inputs to learn from; one of trigger.searches"
    )
    repairers: Annotated[
        dict[Label, dict[Label, Any]], accepted_by("asterism.dflare.repairers:repairer_options")
    ] = Field(min_length=1, description="repairers to compare, each with its options")
    folds: int = Field(ge=2, description="parts of the cross-validation")
    repeats: int = Field(ge=1, description="repetitions of it, each with another random seed")
