"""What ``asterism.vet`` takes beyond the modules themselves, on pairs of PyTorch's modules.

    python benchmarks/modules.py

The time inside both modules is taken around their own ``forward``, once in seconds of a processor
and once by the clock; everything else is overhead. Run it on idle cores.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import asterism
from asterism.api import vetting


def block(given: int, filters: int, stride: int = 1) -> nn.Module:
    """A convolution with normalisation and a rectified linear unit."""
    convolution = nn.Conv2d(given, filters, 3, stride, 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(filters), nn.ReLU())


PAIRS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "four convolutions, 3 x 32 x 32, 5 million multiplications": (
        nn.Sequential(
            *(block(3, 16), block(16, 32, 2), block(32, 64, 2), block(64, 64)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
        ),
        (3, 32, 32),
    ),
    "two dense layers, 64 numbers, 19 thousand multiplications": (
        nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)),
        (64,),
    ),
}


class Clock:
    """Seconds of a processor and by the clock, summed over calls of functions."""

    def __init__(self) -> None:
        self.processor = self.wall = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose calls count."""

        def call(*given: Any) -> Any:
            processor, wall = time.process_time(), time.perf_counter()
            try:
                return function(*given)
            finally:
                self.processor += time.process_time() - processor
                self.wall += time.perf_counter() - wall

        return call


def watched(question: Callable[..., Any], inside: Clock, title: str) -> Callable[..., Any]:
    """The question, which says what it takes and what of it the modules take."""

    def asked(*given: Any) -> Any:
        whole, processor, wall = Clock(), inside.processor, inside.wall
        answer = whole.timed(question)(*given)
        processor, wall = inside.processor - processor, inside.wall - wall
        print(
            f"{title}: {question.__name__}: {whole.processor:.2f} s of a processor, "
            f"{processor:.2f} in the modules ({whole.processor / processor - 1:.1%} over); by the "
            f"clock {whole.wall:.2f} and {wall:.2f} s ({whole.wall / wall - 1:.1%} over)",
            flush=True,
        )
        return answer

    return asked


def main() -> None:
    """Print a line for each pair and question."""
    questions = {name: getattr(vetting, name) for name in ("measure_opened", "search_opened")}
    for title, (network, shape) in PAIRS.items():
        torch.manual_seed(0)
        network.eval()
        small = copy.deepcopy(network)
        with torch.no_grad():
            for weights in small.parameters():
                if weights.ndim > 1:
                    scale = weights.abs().max() / 31
                    weights.copy_((weights / scale).round() * scale)
        inside = Clock()
        for module in (network, small):
            module.forward = inside.timed(module.forward)  # type: ignore[method-assign]
        for name, question in questions.items():
            setattr(vetting, name, watched(question, inside, title))
        asterism.vet(
            *(network, small, torch.rand(400, *shape)),
            **{"kind": "tensors", "comparison": "top_label", "minutes": 3},
            overrides=["vet.search.seeds=200"],
        )


if __name__ == "__main__":
    main()
