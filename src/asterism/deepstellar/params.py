"""Parameters of the stateful lane."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from asterism.core.parameters.params import Distinct, PaperSource, ParameterSection
from asterism.core.parameters.registry import suggest_closest
from asterism.core.parameters.validation import Label, accepted_by
from asterism.deepstellar.selections import SelectionParams

#: Bits of a state's code, a signed integer of 64, and of those the most for one component.
_CODE_BITS, _WIDEST = 63, 62

#: Bits that the smallest grid needs, of m = 1 and n_step = 1.
_NARROWEST = 3


class AbstractionParams(ParameterSection):
    """How hidden states become abstract states."""

    k: Annotated[int, PaperSource("DeepStellar, section 3.2")] = Field(
        ge=1, description="principal components kept"
    )
    m: Annotated[int, PaperSource("DeepStellar, section 3.2")] = Field(
        ge=1, description="equal intervals over each component's range"
    )
    bits: int = Field(description="bits of a state's code for each component")
    n_step: Annotated[int, PaperSource("DeepStellar, section 4.1")] = Field(
        ge=1, description="Manhattan distance up to which unvisited states count as boundary"
    )

    @model_validator(mode="after")
    def _codes_fit(self) -> Self:
        """Each component's cells, the boundary on both sides included, have codes that differ."""
        most = min(_CODE_BITS // self.k, _WIDEST)
        cells = self.m + 1 + 2 * (self.n_step + 1)
        needed = (cells - 1).bit_length()
        grid = f"k={self.k}, m={self.m} and n_step={self.n_step}"
        if needed > most:
            raise ValueError(
                f"{grid} need {self.k} times {needed} bits, and a state's code has {_CODE_BITS}: "
                f"lower {'k' if most < _NARROWEST else 'k or m'}"
            )
        if not needed <= self.bits <= most:
            raise ValueError(
                f"bits={self.bits} does not go with {grid}: it should be {needed} to {most}"
            )
        return self


class CoverageParams(ParameterSection):
    """How sets of inputs are measured."""

    references: int = Field(
        ge=1, description="training inputs of each class that traces are compared with"
    )


class SeedParams(ParameterSection):
    """The inputs that fuzzing begins with."""

    per_class: int = Field(ge=1, description="correctly classified test inputs of each class")


class FuzzParams(ParameterSection):
    """Fuzzing campaigns, one for each criterion."""

    criteria: Annotated[
        Distinct[Literal["state", "k_step", "transition", "none"]],
        PaperSource("DeepStellar, section 5"),
    ] = Field(min_length=1, description="what guides a campaign; none: the unguided baseline")
    mutants: int = Field(ge=1, description="budget of a campaign: mutants run through the network")
    parents: int = Field(ge=1, description="parents chosen at a time")
    mutants_per_parent: int = Field(ge=1, description="mutants made of a parent each time")
    islands: int = Field(
        ge=1, description="campaigns of their own, which share the budget and are united at the end"
    )
    attempts: Annotated[int, PaperSource("DeepHunter, section 3.2")] = Field(
        ge=1, description="tries to make an acceptable mutant of a parent"
    )
    l0_share: Annotated[float, PaperSource("DeepHunter, section 3.2")] = Field(
        ge=0, le=1, description="share of an image's values that may change by any amount"
    )
    linf_share: Annotated[float, PaperSource("DeepHunter, section 3.2")] = Field(
        ge=0, le=1, description="share of 255 by which all of an image's values may change"
    )
    selection: SelectionParams
    mutators: Annotated[
        dict[Label, dict[Label, Any]],
        accepted_by("asterism.deepstellar.mutators:accept_mutators"),
    ] = Field(min_length=1, description="mutators by name, each with its ranges")
    weights: dict[Label, float] = Field(
        description="how often a mutator is drawn relative to the others; 1 where not named"
    )

    @model_validator(mode="after")
    def _weights_are_those_of_mutators(self) -> Self:
        for name, weight in self.weights.items():
            if name not in self.mutators:
                known = list(self.mutators)
                raise ValueError(
                    f"weights names {name!r}, but mutators does not{suggest_closest(name, known)}"
                )
            if not weight >= 0:
                raise ValueError(f"weights gives {name} {weight}, but none may be below 0")
        if not any(self.weights.get(name, 1.0) for name in self.mutators):
            raise ValueError("weights are 0 for all mutators")
        return self
