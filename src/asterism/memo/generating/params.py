"""Parameters of generation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from asterism.core.parameters.params import Distinct, PaperSource, ParameterSection
from asterism.core.parameters.validation import named

StrategyName = Annotated[str, named("asterism.memo.generating.strategies:STRATEGIES")]


class GenerateParams(ParameterSection):
    """Generation of models (Algorithm 2)."""

    strategy: Annotated[StrategyName, PaperSource("MEMO, Algorithm 2")] = Field(
        description="memo, memo_r, memo_o, lemon, cradle or muffin"
    )
    compared: Distinct[StrategyName] = Field(
        description="further strategies whose coverage is measured at the same budget"
    )
    models: int = Field(ge=1, description="budget: valid mutants to generate")
    executed: int | None = Field(
        ge=1,
        description="models that are then run in the libraries, those that cover most for their "
        "cost; null: all",
    )
    islands: int = Field(
        ge=1, description="campaigns of their own, which share the budget and are united at the end"
    )
    mutations: Annotated[int, PaperSource("MEMO, Algorithm 2: 1")] = Field(
        ge=1, le=50, description="mutations of a model before it is run"
    )
    published: bool = Field(
        description="MEMO as published: its seven operators, on one to five layers, and scores "
        "that count mutants; else the later version's three operators too, one layer at a time, "
        "and scores that count what mutants newly cover, inputs of layers too"
    )
    p: Annotated[float, PaperSource("MEMO, Algorithm 2")] = Field(
        gt=0, lt=1, description="parameter of the geometric distribution of the selection"
    )
    max_layers: int = Field(ge=2, description="a mutant of more layers is rejected")
    max_steps: int = Field(
        ge=1,
        description="a mutant whose layers make more computations one after another is rejected; a "
        "recurrent layer makes one at each step, and exporters write them all out",
    )
    max_elements: int = Field(
        ge=1, description="a mutant with a tensor of more elements per item is rejected"
    )
    tries: int = Field(ge=1, description="draws of an operator before it is given up")
