"""The weights of a network in floating point, of which quantised ones were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantised graphs
from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from asterism.models.signatures.torch import operator_of

#: How far weights may be from the original's, as a share of their size: further away they are
#: others.
_SAME_WEIGHTS = 0.5
#: Where PyTorch's operator ``batch_norm`` has its running variance, and its epsilon.
_VARIANCE, _EPSILON = 4, 7


#: Makes real numbers of integers, scales and zero points; and what else it takes: the axis that
#: has a scale for each place, and what the integers are.
DEQUANTISED = torch.ops.quantized_decomposed.dequantize_per_channel.default
BY_CHANNEL = (0, -127, 127, torch.int8)


class QuantisedWeights(NamedTuple):
    """Weights as PT2E keeps them, 8 bits each, with a scale for each place of the first axis.

    Attributes:
        integers: int8 ``(C, ...)``.
        scales: float32 ``(C,)``.
        zeros: int64 ``(C,)``.
    """

    integers: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor

    def real(self) -> torch.Tensor:
        """The real numbers of the weights, float32 ``(C, ...)``."""
        found: torch.Tensor = DEQUANTISED(*self, *BY_CHANNEL)
        return found


def quantise_weights_by_channel(weights: torch.Tensor) -> QuantisedWeights:
    """Weights with the finest symmetric scale that each channel allows.

    Args:
        weights: float32 ``(C, ...)``.
    """
    largest = weights.flatten(1).abs().amax(1)
    scales = torch.where(largest > 0, largest, 1.0) / 127
    whole = weights / scales.reshape(-1, *[1] * (weights.ndim - 1))
    return QuantisedWeights(
        whole.round().to(torch.int8), scales, torch.zeros(len(scales), dtype=torch.int64)
    )


class FloatWeights:
    """Weights by the names of their parts, with and without a folded normalisation.

    Args:
        module: in floating point, or the graph of an exported one.
        named: the user's name for one in the module.
    """

    def __init__(self, module: nn.Module, named: Callable[[str], str] = str) -> None:
        tensors = dict(module.named_parameters()) | dict(module.named_buffers())
        self._tensors = {named(name): tensor for name, tensor in tensors.items()}
        self._epsilons = {
            name: float(part.eps) for name, part in module.named_modules() if hasattr(part, "eps")
        }
        for node in module.graph.nodes if isinstance(module, fx.GraphModule) else ():
            if operator_of(node.target) == "batch_norm":
                owner = _owner(named(str(node.args[_VARIANCE].target)))
                self._epsilons[owner] = float(node.args[_EPSILON])
        self.parts = {_owner(name) for name in self._tensors}

    @torch.no_grad()
    def closest(self, rounded: torch.Tensor, part: str = "") -> tuple[str, torch.Tensor] | None:
        """The weights and the part that quantised ones come from; None if none are close.

        Args:
            rounded: what the quantised weights stand for.
            part: whose weights they are; empty where that is not known.
        """
        nearest, least = None, _SAME_WEIGHTS
        for owner, weights in self._candidates(rounded.shape):
            far = float((weights - rounded).norm()) / (float(weights.norm()) or 1.0)
            if far <= least and part in ("", owner):
                nearest, least = (owner, weights.detach().clone()), far
        return nearest

    def _candidates(self, shape: torch.Size) -> Iterator[tuple[str, torch.Tensor]]:
        for name, weights in self._tensors.items():
            if weights.shape == shape:
                yield _owner(name), weights
            if name.endswith("weight") and weights.ndim > 2 and weights.shape[:1] == shape[:1]:
                bias = self._tensors.get(f"{_owner(name)}.bias")
                for folded in self._folded(weights, bias):
                    if folded.shape == shape:
                        yield _owner(name), folded

    def _folded(self, weights: torch.Tensor, bias: torch.Tensor | None) -> Iterator[torch.Tensor]:
        """A convolution's weights and bias with each normalisation of as many channels."""
        for norm, epsilon in self._epsilons.items():
            mean, variance, scale, shift = (
                self._tensors.get(f"{norm}.{name}")
                for name in ("running_mean", "running_var", "weight", "bias")
            )
            if mean is not None and variance is not None and len(mean) == len(weights):
                yield from fuse_conv_bn_weights(
                    weights, bias, mean, variance, epsilon, scale, shift
                )


def _owner(name: str) -> str:
    return name.rpartition(".")[0]
