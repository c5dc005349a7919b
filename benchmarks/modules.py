"""What the search of ``asterism.vet`` takes beyond pure inference of PyTorch's modules.

    python benchmarks/modules.py

The batches that a search gives to both modules are recorded and passed to them again, three times,
by a loop that does nothing else. The middle one of the three times is that of pure inference. Since
the thread that searches also calls the modules, the time in their ``forward`` is told apart too,
which no drift of the machine's speed between search and loop can change. Run it on idle cores.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import nn

import asterism
from asterism.api import vetting

Call = tuple[Callable[..., Any], torch.Tensor]


def block(given: int, filters: int, stride: int = 1) -> nn.Module:
    """A convolution with normalisation and a rectified linear unit."""
    convolution = nn.Conv2d(given, filters, 3, stride, 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(filters), nn.ReLU())


def pooled(given: int, filters: int, padding: int = 0) -> list[nn.Module]:
    """A convolution of 5 x 5 with a rectified linear unit and pooling."""
    return [nn.Conv2d(given, filters, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2)]


class Residual(nn.Module):
    """Two convolutions beside a shortcut, which repeats channels with zeros."""

    def __init__(self, given: int, filters: int) -> None:
        super().__init__()
        self.stride = 1 if given == filters else 2
        self.inner = nn.Sequential(
            *block(given, filters, self.stride),
            nn.Conv2d(filters, filters, 3, padding=1, bias=False),
            nn.BatchNorm2d(filters),
        )

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Both ways, added."""
        inner = self.inner(items)
        beside = items[:, :, :: self.stride, :: self.stride]
        missing = inner.shape[1] - beside.shape[1]
        padded = nn.functional.pad(beside, (0, 0, 0, 0, missing // 2, missing - missing // 2))
        return torch.relu(inner + padded)


def resnet20() -> nn.Module:
    """ResNet-20 for CIFAR-10."""
    widths = [16] * 4 + [32] * 3 + [64] * 3
    parts = [Residual(given, filters) for given, filters in pairwise(widths)]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(block(3, 16), *parts, *end)


def dense(*sizes: int) -> list[nn.Module]:
    """Dense layers with rectified linear units between them."""
    layers: list[nn.Module] = []
    for given, units in pairwise(sizes):
        layers += [nn.Linear(given, units), nn.ReLU()]
    return layers[:-1]


NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "four convolutions, 3 x 32 x 32": (
        nn.Sequential(
            *(block(3, 16), block(16, 32, 2), block(32, 64, 2), block(64, 64)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
        ),
        (3, 32, 32),
    ),
    "ResNet-20, 3 x 32 x 32": (resnet20(), (3, 32, 32)),
    "LeNet-5": (
        nn.Sequential(*pooled(1, 6, 2), *pooled(6, 16), nn.Flatten(), *dense(400, 120, 84, 10)),
        (1, 28, 28),
    ),
    "LeNet-1": (
        nn.Sequential(*pooled(1, 4), *pooled(4, 12), nn.Flatten(), nn.Linear(192, 10)),
        (1, 28, 28),
    ),
    "dense layers, 64, 1,024, 1,024, 10": (nn.Sequential(*dense(64, 1024, 1024, 10)), (64,)),
    "dense layers, 64, 256, 10": (nn.Sequential(*dense(64, 256, 10)), (64,)),
}


def with_five_bits(network: nn.Module) -> nn.Module:
    """A copy of a network whose weights have 63 values for each layer."""
    small = copy.deepcopy(network)
    with torch.no_grad():
        for weights in small.parameters():
            if weights.ndim > 1:
                scale = weights.abs().max() / 31
                weights.copy_((weights / scale).round() * scale)
    return small


def recorded(
    forward: Callable[..., Any], calls: list[Call], spent: list[float]
) -> Callable[..., Any]:
    """A module's forward, whose calls are kept, with the seconds that each takes."""

    def call(items: torch.Tensor) -> Any:
        calls.append((forward, items.clone()))
        started = time.perf_counter()
        answer = forward(items)
        spent.append(time.perf_counter() - started)
        return answer

    return call


def seconds_of(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a processor and by the clock."""
    processor, wall = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - processor, time.perf_counter() - wall


def measure(network: nn.Module, shape: tuple[int, ...]) -> str:
    """Vet a network and its version of few bits, and compare the search with pure inference."""
    small, calls, spent = with_five_bits(network), list[Call](), list[float]()
    for module in (network, small):
        module.forward = recorded(module.forward, calls, spent)  # type: ignore[method-assign]
    found: dict[str, Any] = {}
    search = vetting.search_opened

    def watched(*given: Any) -> Any:
        calls.clear()
        spent.clear()
        found["search"] = seconds_of(lambda: found.update(answer=search(*given)))
        found["calls"], found["within"] = list(calls), sum(spent)
        return found["answer"]

    vetting.search_opened = watched  # type: ignore[assignment]
    try:
        asterism.vet(
            *(network, small, torch.rand(400, *shape)),
            **{"kind": "tensors", "comparison": "top_label", "minutes": 1},
            overrides=["vet.search.seeds=200"],
        )
    finally:
        vetting.search_opened = search

    def infer() -> None:
        with torch.inference_mode():
            for forward, items in found["calls"]:
                forward(items)

    pure = [median(times) for times in zip(*(seconds_of(infer) for _ in range(3)), strict=True)]
    queries = sum(len(items) for _, items in found["calls"]) // 2
    kinds = zip(("processor", "clock"), found["search"], pure, strict=True)
    wall, within = found["search"][1], found["within"]
    own = (
        f"beyond forward {wall / within - 1:.0%}, {1e6 * (wall - within) / queries:.0f} µs a query"
    )
    return f"{queries:,} queries; {own}; " + "; ".join(
        f"{kind}: search {own:.1f} s, pure inference {least:.1f} s, {own / least - 1:.0%} over, "
        f"{1e6 * (own - least) / queries:.0f} µs a query"
        for kind, own, least in kinds
    )


def main() -> None:
    """Print a line for each network."""
    for title, (network, shape) in NETWORKS.items():
        torch.manual_seed(0)
        print(f"{title}: {measure(network.eval(), shape)}", flush=True)


if __name__ == "__main__":
    main()
