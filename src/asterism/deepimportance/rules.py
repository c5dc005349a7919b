"""The rules of layer-wise relevance propagation.

A rule shares the relevance ``R_k`` of a linear operation's outputs among its inputs. All of them
have one form: a denominator ``z_k`` that sums products of (a part of) the input with (a part of)
the kernel, and each product's share of it (``_share_relevance``).

Sources: Bach et al., PLOS ONE 2015 (LRP-0, ε, αβ); Montavon et al., "Explaining nonlinear
classification decisions with deep Taylor decomposition", Pattern Recognition 2017 (w², flat, z^B);
Montavon et al., "Layer-wise relevance propagation: an overview", 2019 (γ); Andéol et al., 2021 (γ
for inputs of either sign).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asterism.deepimportance.network import LinearOperation
from asterism.deepimportance.tensor_ops import Tensor, TensorOps, find_tensor_ops

#: Keeps a denominator away from zero in the rules that have no ε of their own.
STABILISER = 1e-6


@dataclass(frozen=True)
class RelevanceStep:
    """The arguments of a rule: one linear operation and the values at it.

    Attributes:
        operation: the operation.
        x: its input, batch first.
        relevance: relevance of its output, of the output's shape.
        nonnegative: whether ``x`` is known to have no negative value.
        box: smallest and largest possible ``x``, each of shape ``(1, …)``; known only at
            operations that see the network's input (for z^B).
    """

    operation: LinearOperation
    x: Tensor
    relevance: Tensor
    nonnegative: bool
    box: tuple[Tensor, Tensor] | None = None

    @property
    def ops(self) -> TensorOps:
        """Operations on its tensors."""
        return find_tensor_ops(self.x)


class RelevanceRule(ABC):
    """A rule that shares the relevance of outputs among inputs."""

    @abstractmethod
    def share(self, at: RelevanceStep) -> Tensor:
        """Relevance of the input, of its shape."""


@dataclass(frozen=True)
class EpsilonRule(RelevanceRule):
    """LRP-ε: ``R_j = Σ_k x_j w_jk / (z_k + ε sign z_k) R_k``; LRP-0 with ``epsilon=0``."""

    epsilon: float

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance in proportion to ``x_j w_jk``; the bias keeps its part."""
        kernel, bias = at.operation.parameters(at.x)
        return _share_relevance(at, [(at.x, kernel)], bias, at.relevance, self.epsilon)


@dataclass(frozen=True)
class AlphaBetaRule(RelevanceRule):
    """LRP-αβ: ``R_j = Σ_k (α (x_j w_jk)⁺ / z_k⁺ - β (x_j w_jk)⁻ / z_k⁻) R_k``, ``α - β = 1``."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if abs(self.alpha - self.beta - 1) > 1e-9 or self.beta < 0:
            raise ValueError(f"α - β must be 1 and β at least 0, not {self.alpha} and {self.beta}")

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance among positive and among negative contributions."""
        kernel, bias = at.operation.parameters(at.x)
        ops = at.ops
        plus, minus = ops.positive(kernel), ops.negative(kernel)
        supporting, opposing = [(at.x, plus)], [(at.x, minus)]
        if not at.nonnegative:
            x_plus, x_minus = ops.positive(at.x), ops.negative(at.x)
            supporting = [(x_plus, plus), (x_minus, minus)]
            opposing = [(x_plus, minus), (x_minus, plus)]
        positive = _weighted_sum(at, supporting) + ops.positive(bias)
        result = self.alpha * _redistribute_relevance(
            at, supporting, divide_relevance(at.relevance, positive)
        )
        if self.beta:
            negative = at.operation.forward(at.x) - positive
            result -= self.beta * _redistribute_relevance(
                at, opposing, divide_relevance(at.relevance, negative)
            )
        return result


@dataclass(frozen=True)
class GammaRule(RelevanceRule):
    """LRP-γ: as LRP-0 with the weights ``w + γ w⁺`` (``w + γ w⁻`` where the output is negative)."""

    gamma: float

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance, favouring contributions of the output's own sign."""
        ops, z = at.ops, at.operation.forward(at.x)
        positive = self._share(at, ops.positive, ops.where(z > 0, at.relevance, 0))
        negative = ops.where(z < 0, at.relevance, 0)
        # Behind a ReLU no output below zero has any relevance, and half of the work is saved.
        return positive + ops.if_any(
            negative != 0,
            lambda: self._share(at, ops.negative, negative),
            lambda: _filled(at, 0.0, at.x),
        )

    def _share(self, at: RelevanceStep, sign: Callable[..., Tensor], relevance: Tensor) -> Tensor:
        """Relevance shared with contributions of one sign favoured, that of ``sign``."""
        kernel, bias = at.operation.parameters(at.x)
        same, other = sign(kernel), kernel - sign(kernel)
        favouring = bias + self.gamma * sign(bias)
        if at.nonnegative:
            return _share_relevance(at, [(at.x, kernel + self.gamma * same)], favouring, relevance)
        x_plus, x_minus = at.ops.positive(at.x), at.ops.negative(at.x)
        parts = [(x_plus, kernel + self.gamma * same), (x_minus, kernel + self.gamma * other)]
        return _share_relevance(at, parts, favouring, relevance)


@dataclass(frozen=True)
class ZBoxRule(RelevanceRule):
    """LRP-z^B for inputs in a box: shares in proportion to ``x_j w_jk - l w_jk⁺ - h w_jk⁻``."""

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance by bounds of the input; no share is negative, because l ≤ x ≤ h."""
        if at.box is None:
            raise ValueError("z^B is a rule for operations that see the network's input")
        kernel, bias = at.operation.parameters(at.x)
        ops = at.ops
        low, high = (ops.spread(-bound, at.x) for bound in at.box)
        parts = [(at.x, kernel), (low, ops.positive(kernel)), (high, ops.negative(kernel))]
        return _share_relevance(at, parts, _filled(at, 0.0, bias), at.relevance)


@dataclass(frozen=True)
class WSquareRule(RelevanceRule):
    """LRP-w²: shares in proportion to ``w_jk²``, whatever the input."""

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance by squared weights: for first layers with unbounded inputs."""
        kernel, bias = at.operation.parameters(at.x)
        parts = [(_filled(at, 1.0, at.x), kernel**2)]
        return _share_relevance(at, parts, _filled(at, 0.0, bias), at.relevance)


@dataclass(frozen=True)
class FlatRule(RelevanceRule):
    """LRP-flat: shares equally among the inputs that an output sees."""

    def share(self, at: RelevanceStep) -> Tensor:
        """Share relevance equally: for first layers, if only the place of evidence matters."""
        kernel, bias = at.operation.parameters(at.x)
        parts = [(_filled(at, 1.0, at.x), _filled(at, 1.0, kernel))]
        return _share_relevance(at, parts, _filled(at, 0.0, bias), at.relevance)


def _share_relevance(
    at: RelevanceStep,
    parts: Sequence[tuple[Tensor, Tensor]],
    bias: Tensor,
    relevance: Tensor,
    epsilon: float = STABILISER,
) -> Tensor:
    """Relevance shared in proportion to the products of ``parts``.

    With parts ``(a, v)`` of the input and the kernel, ``z_k = Σ_parts Σ_j a_j v_jk + bias_k`` and
    the result is ``R_j = Σ_k Σ_parts a_j v_jk / stabilise(z_k) R_k``.
    """
    return _redistribute_relevance(
        at, parts, divide_relevance(relevance, _weighted_sum(at, parts) + bias, epsilon)
    )


def _weighted_sum(at: RelevanceStep, parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """``Σ_parts Σ_j a_j v_jk``."""
    return at.ops.total([at.operation.function(a, v) for a, v in parts])


def divide_relevance(relevance: Tensor, z: Tensor, epsilon: float = STABILISER) -> Tensor:
    """``R_k / stabilise(z_k)``."""
    return find_tensor_ops(z).ratio(relevance, _stabilise(z, epsilon))


def _redistribute_relevance(
    at: RelevanceStep, parts: Sequence[tuple[Tensor, Tensor]], shares: Tensor
) -> Tensor:
    """``Σ_k Σ_parts a_j v_jk s_k``.

    The sum over ``k`` is the operation's transpose, which automatic differentiation gives for any
    linear operation; what it would need the output for is never computed.
    """
    inputs, kernels = [a for a, _ in parts], [v for _, v in parts]

    def summed(*given: Tensor) -> Tensor:
        return _weighted_sum(at, list(zip(given, kernels, strict=True)))

    weights = at.ops.gradient(summed, inputs, shares)
    return at.ops.total([a * c for a, c in zip(inputs, weights, strict=True)])


def _stabilise(z: Tensor, epsilon: float) -> Tensor:
    """``z + ε sign(z)``, with ``sign(0) = 1``."""
    ops = find_tensor_ops(z)
    step = ops.constant(epsilon, z)
    return z + ops.where(z >= 0, step, -step)


def _filled(at: RelevanceStep, value: float, like: Tensor) -> Tensor:
    return at.ops.spread(at.ops.constant(value, like), like)
