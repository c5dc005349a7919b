"""What the search of ``asterism.vet`` takes beyond the forward of real networks of PyTorch.

    git show 87f873e5:benchmarks/torch_pairs.py > benchmarks/torch_pairs.py
    python benchmarks/real_modules.py --wheels WHEELS --photographs photographs.npz

The networks, their wheels and the photographs are those of ``torch_pairs.py``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
import torch_pairs
from torch import nn

import asterism
from asterism.api import vetting

#: By network: how many inputs, and the search's own parameters.
ASKED: dict[str, tuple[int, list[str]]] = {
    "mgm": (200, ["vet.search.seeds=40", "vet.changes.inputs=20"]),
    "lite0": (16, ["vet.search.seeds=8", "vet.search.queries=10", "vet.changes.inputs=8"]),
}
spent: list[tuple[float, int]] = []


def timed(module: nn.Module) -> None:
    """Keep the seconds and the inputs of each call."""
    forward = module.forward

    def call(*given: Any, **named: Any) -> Any:
        started = time.perf_counter()
        answer = forward(*given, **named)
        spent.append((time.perf_counter() - started, len(given[0])))
        return answer

    module.forward = call  # type: ignore[method-assign]


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--photographs", type=Path, required=True)
    given = parser.parse_args()
    search = vetting.search_opened  # type: ignore[attr-defined]

    def watched(*asked: Any) -> Any:
        spent.clear()
        started = time.perf_counter()
        answer = search(*asked)
        wall, inside = time.perf_counter() - started, sum(seconds for seconds, _ in spent)
        queries = sum(rows for _, rows in spent) // 2
        print(f"{wall:.1f} s, forward {inside:.1f} s, beyond it {wall / inside - 1:.1%}, {queries}")
        return answer

    vetting.search_opened = watched  # type: ignore[attr-defined]
    for name, (count, overrides) in ASKED.items():
        make, options = torch_pairs.SUBJECTS[name]
        torch.manual_seed(0)
        network, inputs = make(given)
        small = torch_pairs.dynamic(network, inputs)
        timed(network)
        timed(small)
        print(name)
        asterism.vet(network, small, inputs[:count], minutes=1, overrides=overrides, **options)


if __name__ == "__main__":
    main()
