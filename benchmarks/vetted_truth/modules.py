"""Pairs of PyTorch's modules whose truth is known, given to ``asterism.vet``."""

from __future__ import annotations

import copy
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

import asterism
from asterism.core.messages.errors import UserError
from vetted_truth.answers import Answer
from vetted_truth.counting import ROLES
from vetted_truth.judging import Outcome, judge_answers, judge_repair
from vetted_truth.networks import Array
from vetted_truth.pairs import GIVEN, counted, right_answers

CLASSES, WIDTH = 5, 24
#: What ends a network by the kind of its outputs: their role, how many, and the last module.
HEADS: dict[str, tuple[str, int, type[nn.Module]]] = {
    "logits": ("classes", CLASSES, nn.Identity),
    "sigmoids": ("several", 4, nn.Sigmoid),
    "number": ("numbers", 1, nn.Identity),
    "numbers": ("numbers", 3, nn.Identity),
}
INPUTS = ("tensors", "pictures", "sequences", "tokens")
FORMS = ("rounded", "dynamic", "half")
DAMAGE = ("none", "scale", "coarse", "pruned", "constant", "NaN on some")
_FEW = ["vet.changes.inputs=20", "vet.search.seeds=10", "vet.search.queries=30"]


class _Tokens(nn.Module):
    """Tokens through a layer of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, WIDTH)
        self.encoder = nn.TransformerEncoderLayer(WIDTH, 4, 48, dropout=0.0, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.encoder(self.embedding(tokens)).mean(1)
        return found


class _Silent(nn.Module):
    """Another module, but for inputs beyond a limit, on which it answers NaN."""

    def __init__(self, inner: nn.Module, limit: float) -> None:
        super().__init__()
        self.inner, self.limit = inner, limit

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        beyond = x.flatten(1).double().mean(1) > self.limit
        found: torch.Tensor = self.inner(x)
        return found.masked_fill(beyond[:, None], torch.nan)


def _body(inputs: str) -> list[nn.Module]:
    if inputs == "tokens":
        return [_Tokens()]
    if inputs == "pictures":
        ends = [nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, WIDTH), nn.ReLU()]
        return [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), *ends]
    if inputs == "sequences":
        ends = [nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(24, WIDTH), nn.ReLU()]
        return [nn.Conv1d(3, 12, 3), *ends]
    return [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, WIDTH), nn.ReLU()]


def _items(inputs: str, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Inputs around a centre for each class, float32 or int64, and the classes."""
    labels = rng.integers(0, CLASSES, count)
    if inputs == "tokens":
        own = rng.integers(0, 8, (count, 9)) + 8 * labels[:, None]
        return np.where(rng.random((count, 9)) < 0.6, own, rng.integers(0, 40, (count, 9))), labels
    shape = {"pictures": (1, 12, 12), "sequences": (3, 24), "tensors": (16,)}[inputs]
    centres = np.random.default_rng(7).normal(size=(CLASSES, *shape))
    return (centres[labels] + rng.normal(size=(count, *shape))).astype(np.float32), labels


def _trained(inputs: str, head: str, rng: np.random.Generator) -> nn.Module:
    """A network that was fitted for a moment to what its head is for."""
    role, size, last = HEADS[head]
    net = nn.Sequential(*_body(inputs), nn.Linear(WIDTH, size), last())
    # PyTorch's fast path reads layers' weights, which dynamic quantisation hides.
    torch.backends.mha.set_fastpath_enabled(False)
    items, labels = _items(inputs, 600, rng)
    wanted = np.random.default_rng(3).random((CLASSES, size)).astype(np.float32)
    wanted = np.eye(CLASSES, dtype=np.float32) if role == "classes" else wanted
    target = torch.from_numpy((wanted[labels] > 0.5) if role == "several" else wanted[labels])
    steps = torch.optim.Adam(net.parameters(), 0.01)
    x = torch.from_numpy(items)
    for _ in range(80):
        steps.zero_grad()
        if role == "classes":
            loss = nn.functional.cross_entropy(net(x), target)
        else:
            loss = nn.functional.mse_loss(net(x), target.float())
        loss.backward()  # type: ignore[no-untyped-call]
        steps.step()
    return net.eval()


def _compressed(net: nn.Module, form: str) -> nn.Module:
    small = copy.deepcopy(net)
    if form == "dynamic":
        quantise: Any = torch.ao.quantization.quantize_dynamic
        return cast(nn.Module, quantise(small, {nn.Linear}, torch.qint8))
    if form == "half":
        return small.to(torch.bfloat16)
    for weights in _weights(small).values():
        _round(weights, 8)
    return small


def _weights(net: nn.Module) -> dict[str, torch.Tensor]:
    """The weights of layers by the layers' names."""
    kinds = nn.Linear, nn.Conv1d, nn.Conv2d
    return {name: m.weight.data for name, m in net.named_modules() if isinstance(m, kinds)}


def _round(weights: torch.Tensor, bits: int) -> None:
    step = weights.abs().max() / (2 ** (bits - 1) - 1)
    weights.copy_((weights / step).round() * step)


def _damage(net: nn.Module, kind: str, rng: np.random.Generator) -> str:
    """Damage a layer; its name."""
    name = str(rng.choice(sorted(_weights(net))))
    weights = _weights(net)[name]
    if kind == "scale":
        weights.mul_(float(rng.uniform(1.5, 3)))
    elif kind == "coarse":
        _round(weights, 2)
    elif kind == "pruned":
        weights[weights.abs() < weights.abs().flatten().quantile(0.9)] = 0
    else:
        weights.zero_()
    return name


def _answers(net: nn.Module, items: Array) -> list[Answer]:
    """Of each input by itself."""
    x = torch.from_numpy(items)
    real = next((p for p in net.parameters() if p.dtype.is_floating_point), None)
    if real is not None and x.is_floating_point():
        x = x.to(real.dtype)
    with torch.no_grad():
        return [{"output": net(x[i : i + 1]).float().numpy()} for i in range(len(x))]


def run_pair(seed: int, number: int) -> dict[str, Any]:
    """Make a pair, vet it, and judge what is said of it.

    Args:
        seed: of all pairs.
        number: of this one.
    """
    rng = np.random.default_rng([seed, number])
    torch.manual_seed(int(rng.integers(1 << 31)))
    inputs, head, form = (str(rng.choice(names)) for names in (INPUTS, list(HEADS), FORMS))
    kind = str(rng.choice(DAMAGE))
    kind = "none" if kind == "NaN on some" and inputs == "tokens" else kind
    role = HEADS[head][0]
    net = _trained(inputs, head, rng)
    bad, node = copy.deepcopy(net), ""
    if kind not in ("none", "NaN on some"):
        node = _damage(bad, kind, rng)
    small = _compressed(bad, form)
    (items, labels), (fresh, _) = (_items(inputs, GIVEN, rng) for _ in range(2))
    if kind == "NaN on some":
        sums = items.reshape(len(items), -1).mean(1, dtype=np.float64)
        small = _Silent(small, float(np.quantile(sums, rng.uniform(0.7, 0.96))))
    f, g = _answers(net, items), _answers(small, items)
    labelled = role == "classes" and bool(rng.random() < 0.5)
    right = [right_answers(role, side, labels) for side in (f, g)] if labelled else None
    truth = {
        "roles": {"output": role},
        "comparisons": {"output": ROLES[role]},
        "node": node,
        "accuracy": right,
        "lost_in_half": 0,
        **counted({"output": role}, f, g),
    }
    started, asked = time.monotonic(), []
    outcome = Outcome(status=1)
    given = (items, labels if labelled else None)
    for comparison in (None, ROLES[role][0]):
        try:
            found = asterism.vet(
                net, small, *given, comparison=comparison, minutes=60, overrides=_FEW
            )
        except UserError as error:
            asked = ["--comparison"]
            outcome.failures = [f"dead end: {error}"]
            continue
        with tempfile.TemporaryDirectory() as folder:
            found.page(folder)
            certificate = json.loads((Path(folder) / "certificate.json").read_text())
        outcome = judge_answers(truth, certificate, lambda: [f, g])
        if found.repaired is not None and outcome.word == "ship with the repair":
            judge_repair(truth, _answers(net, fresh), _answers(found.repaired, fresh), outcome)
        break
    outcome.asked, outcome.seconds = asked, time.monotonic() - started
    facts = {"kind": head, "input_kind": inputs, "form": form, "damage": kind, "node": node}
    return {"number": number, "seed": seed, **facts, "labelled": labelled, **asdict(outcome)}
