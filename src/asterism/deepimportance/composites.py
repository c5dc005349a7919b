"""Composites by name: which rule of LRP applies to which kind of operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asterism.core.parameters.registry import Registry
from asterism.deepimportance.network import LinearKind
from asterism.deepimportance.rules import (
    STABILISER,
    AlphaBetaRule,
    EpsilonRule,
    FlatRule,
    GammaRule,
    RelevanceRule,
    WSquareRule,
    ZBoxRule,
)

if TYPE_CHECKING:
    from asterism.deepimportance.params import RelevanceParams


@dataclass(frozen=True)
class Composite:
    """A rule for each kind of linear operation.

    Attributes:
        by_kind: the rule of dense layers, of convolutions and of average pooling.
        first: the rule of the linear operations that see the network's input, where it is
            another one.
    """

    by_kind: Mapping[LinearKind, RelevanceRule]
    first: RelevanceRule | None = None

    def rule(self, kind: LinearKind, *, first: bool) -> RelevanceRule:
        """The rule for an operation of this kind."""
        if first and self.first is not None and kind != "pooling":
            return self.first
        return self.by_kind[kind]


@dataclass(frozen=True)
class RuleSettings:
    """Numbers of the rules: ε of LRP-ε, α and β of LRP-αβ, γ of LRP-γ."""

    epsilon: float = 1e-6
    alpha: float = 3.0
    beta: float = 2.0
    gamma: float = 0.25


COMPOSITES: Registry[Callable[[RuleSettings], Composite]] = Registry("composite")


def build_composite(params: RelevanceParams) -> Composite:
    """The composite that the parameters name."""
    settings = RuleSettings(params.epsilon, params.alpha, params.alpha - 1, params.gamma)
    return COMPOSITES[params.composite](settings)


#: Average pooling and sums share in proportion to what they add up.
PROPORTIONAL = EpsilonRule(STABILISER)


def _composite(
    dense: RelevanceRule, convolution: RelevanceRule, first: RelevanceRule | None = None
) -> Composite:
    kinds: dict[LinearKind, RelevanceRule] = {
        "dense": dense,
        "convolution": convolution,
        "pooling": PROPORTIONAL,
    }
    return Composite(kinds, first)


@COMPOSITES.register("zero")
def zero(settings: RuleSettings) -> Composite:
    """LRP-0 everywhere."""
    return _composite(EpsilonRule(0.0), EpsilonRule(0.0))


@COMPOSITES.register("epsilon")
def epsilon(settings: RuleSettings) -> Composite:
    """LRP-ε everywhere."""
    return _composite(EpsilonRule(settings.epsilon), EpsilonRule(settings.epsilon))


@COMPOSITES.register("alpha_beta")
def alpha_beta(settings: RuleSettings) -> Composite:
    """LRP-αβ everywhere."""
    rule = AlphaBetaRule(settings.alpha, settings.beta)
    return _composite(rule, rule)


@COMPOSITES.register("gamma")
def gamma(settings: RuleSettings) -> Composite:
    """LRP-γ everywhere."""
    return _composite(GammaRule(settings.gamma), GammaRule(settings.gamma))


@COMPOSITES.register("epsilon_plus")
def epsilon_plus(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, LRP-α1β0 (z⁺) in convolutions."""
    return _composite(EpsilonRule(settings.epsilon), AlphaBetaRule(1.0, 0.0))


@COMPOSITES.register("epsilon_alpha_beta")
def epsilon_alpha_beta(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, LRP-αβ in convolutions."""
    return _composite(EpsilonRule(settings.epsilon), AlphaBetaRule(settings.alpha, settings.beta))


@COMPOSITES.register("epsilon_plus_box")
def epsilon_plus_box(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, z⁺ in convolutions, z^B at the input."""
    return _composite(EpsilonRule(settings.epsilon), AlphaBetaRule(1.0, 0.0), ZBoxRule())


@COMPOSITES.register("epsilon_gamma_box")
def epsilon_gamma_box(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, LRP-γ in convolutions, z^B at the input."""
    return _composite(EpsilonRule(settings.epsilon), GammaRule(settings.gamma), ZBoxRule())


@COMPOSITES.register("epsilon_plus_flat")
def epsilon_plus_flat(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, z⁺ in convolutions, flat at the input."""
    return _composite(EpsilonRule(settings.epsilon), AlphaBetaRule(1.0, 0.0), FlatRule())


@COMPOSITES.register("wsquare")
def wsquare(settings: RuleSettings) -> Composite:
    """LRP-ε in dense layers, z⁺ in convolutions, w² at the input."""
    return _composite(EpsilonRule(settings.epsilon), AlphaBetaRule(1.0, 0.0), WSquareRule())
