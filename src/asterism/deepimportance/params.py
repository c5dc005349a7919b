"""Parameters of the importance lane."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from asterism.core.parameters.params import Distinct, PaperSource, ParameterSection
from asterism.core.parameters.validation import named


class ClusterParams(ParameterSection):
    """How the activations of an important neuron are clustered."""

    k_min: Annotated[int, PaperSource("DeepImportance, section 3.2")] = Field(
        ge=2, description="fewest clusters tried; the best silhouette wins"
    )
    k_max: Annotated[int, PaperSource("DeepImportance, section 3.2")] = Field(
        ge=2, le=256, description="most clusters tried, numbered in a byte"
    )
    min_values: int = Field(ge=1, description="a neuron with fewer values gets one cluster")
    leave_out_zeros: bool = Field(description="cluster dense layers' activations above 0 only")
    decimals: int | None = Field(ge=0, description="round centroids to so many; null: do not")

    @model_validator(mode="after")
    def _k_min_is_no_more_than_k_max(self) -> Self:
        if self.k_min > self.k_max:
            raise ValueError(f"k_min is {self.k_min}, but k_max only {self.k_max}")
        return self


class RelevanceParams(ParameterSection):
    """How relevance is propagated."""

    composite: Annotated[
        str,
        named("asterism.deepimportance.composites:COMPOSITES"),
        PaperSource("DeepImportance, section 3.1"),
    ] = Field(description="which rule of LRP applies to which kind of layer")
    epsilon: float = Field(ge=0, description="ε of LRP-ε; 0 makes it LRP-0")
    alpha: Annotated[float, PaperSource("Bach et al., PLoS ONE 2015")] = Field(
        ge=1, description="α of LRP-αβ; β is α - 1"
    )
    gamma: float = Field(ge=0, description="γ of LRP-γ")


class ImportanceParams(ParameterSection):
    """Which neurons are important, and how coverage is measured."""

    layer: str | int | None = Field(
        description="subject layer by name or index; null: the last hidden one"
    )
    neurons: Annotated[
        Distinct[Annotated[int, Field(ge=1)]], PaperSource("DeepImportance, section 3.3")
    ] = Field(min_length=1, description="numbers of important neurons, each measured")
    target_class: int | None = Field(
        ge=0, description="neurons that matter to one class only; null: to all"
    )
    relevance: RelevanceParams
    clusters: ClusterParams
    draws: int = Field(ge=1, description="disjoint draws of each control")
    noise_std: float = Field(
        gt=0,
        description="noise control beside natural augmentations, which no change made: its noise's "
        "standard deviation, of pixels in [0, 1]",
    )
