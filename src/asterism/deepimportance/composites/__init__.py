"""Composites by name: which rule of LRP applies to which kind of operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asterism.core.parameters.registry import Registry

if TYPE_CHECKING:
    from asterism.deepimportance.network import LinearKind
    from asterism.deepimportance.params import RelevanceParams
    from asterism.deepimportance.rules import RelevanceRule


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


COMPOSITES: Registry[Callable[[RuleSettings], Composite]] = Registry(
    "composite", "asterism.deepimportance.composites"
)


def composite_of(params: RelevanceParams) -> Composite:
    """The composite that the parameters name."""
    settings = RuleSettings(params.epsilon, params.alpha, params.alpha - 1, params.gamma)
    return COMPOSITES[params.composite](settings)
