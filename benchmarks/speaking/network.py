"""A small recogniser of letters by CTC, trained here: a waveform in, probabilities out."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from speaking.clips import WORDS, Waves

RATE, LENGTH = 8_000, 20_000
#: The blank, the space between words, and the letters that occur.
SYMBOLS = ("", " ", *sorted(set("".join(WORDS))))
BLANK = 0

_WINDOW, _HOP, _MELS, _CHANNELS = 256, 80, 40, 64
_DILATIONS = (1, 2, 1, 2, 1)


class Recogniser(nn.Module):
    """Logarithms of a mel spectrum, convolutions over time, and a score for each symbol.

    The spectrum is a convolution with fixed weights, so that the exported model takes waveforms.
    Waveforms are float32 ``(N, S)``, scores ``(N, T, C)`` with a frame every 20 ms.
    """

    def __init__(self) -> None:
        super().__init__()
        angle = 2 * np.pi * np.outer(np.arange(_WINDOW // 2 + 1), np.arange(_WINDOW)) / _WINDOW
        window = np.hanning(_WINDOW + 1)[:-1]
        for name, part in (("cosine", np.cos(angle)), ("sine", np.sin(angle))):
            kernel = torch.tensor((part * window)[:, None], dtype=torch.float32)
            self.register_buffer(name, kernel)
        self.register_buffer("mels", torch.tensor(_mel_filters(), dtype=torch.float32)[..., None])
        self.first = nn.Conv1d(_MELS, _CHANNELS, 5, stride=2, padding=2)
        self.blocks = nn.ModuleList(
            nn.Conv1d(_CHANNELS, _CHANNELS, 7, padding=3 * dilation, dilation=dilation)
            for dilation in _DILATIONS
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(_CHANNELS) for _ in _DILATIONS)
        self.last = nn.Conv1d(_CHANNELS, len(SYMBOLS), 1)
        self.dropout = nn.Dropout(0.1)

    def masked(self, x: torch.Tensor) -> torch.Tensor:
        """In training, a spectrum without some bands and moments (SpecAugment, Park et al., 2019).

        Args:
            x: ``(N, mels, T)``.
        """
        if not self.training:
            return x
        kept = torch.ones_like(x)
        for row in range(len(x)):
            for axis, widest in ((0, 8), (1, 20)):
                size = x.shape[1 + axis]
                width = int(torch.randint(0, widest + 1, ()))
                start = int(torch.randint(0, size - width + 1, ()))
                kept[row].narrow(axis, start, width).zero_()
        return x * kept

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        """Scores before the softmax, ``(N, T, C)``."""
        given = waves[:, None]
        real = nn.functional.conv1d(given, self.get_buffer("cosine"), stride=_HOP)
        imaginary = nn.functional.conv1d(given, self.get_buffer("sine"), stride=_HOP)
        power = real * real + imaginary * imaginary
        x = torch.log(nn.functional.conv1d(power, self.get_buffer("mels")) + 1e-3)
        x = x - x.mean(dim=(1, 2), keepdim=True)
        x = torch.relu(self.first(self.masked(x * 0.25)))
        for block, norm in zip(self.blocks, self.norms, strict=True):
            x = x + self.dropout(torch.relu(norm(block(x))))
        scores: torch.Tensor = self.last(x).transpose(1, 2)
        return scores


class _Probabilities(nn.Module):
    """The network as it is exported: with a softmax."""

    def __init__(self, network: Recogniser) -> None:
        super().__init__()
        self.network = network

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Probabilities ``(N, T, C)``."""
        return torch.softmax(self.network(waveform), dim=2)


def _mel_filters() -> NDArray[np.float64]:
    """Triangles that are equally wide on the mel scale, ``(mels, frequencies)``."""
    highest = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, highest, _MELS + 2) / 2595) - 1)
    frequencies = np.arange(_WINDOW // 2 + 1) * RATE / _WINDOW
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling))


def train(waves: Waves, texts: tuple[str, ...], epochs: int, seed: int) -> Recogniser:
    """Train a recogniser by one thread.

    Args:
        waves: clips ``(N, S)``.
        texts: what is said in each.
        epochs: passes over the clips.
        seed: of the weights, of the order and of the noise.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network, batch = Recogniser(), 32
    steps = max(1, len(waves) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, total_steps=epochs * steps, pct_start=0.2
    )
    loss_of = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    started = time.process_time()
    for epoch in range(epochs):
        order, total = rng.permutation(len(waves)), 0.0
        for step in range(steps):
            rows = order[step * batch : (step + 1) * batch]
            scores = network(torch.from_numpy(_varied(waves[rows], rng)))
            said = [[SYMBOLS.index(letter) for letter in texts[row]] for row in rows]
            loss = loss_of(
                scores.log_softmax(2).transpose(0, 1),
                torch.tensor([symbol for text in said for symbol in text]),
                torch.full((len(rows),), scores.shape[1]),
                torch.tensor([len(text) for text in said]),
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        spent = time.process_time() - started
        print(f"  epoch {epoch + 1}: loss {total / steps:.3f}, {spent:.0f} s", flush=True)
    return network.eval()


def _varied(waves: Waves, rng: np.random.Generator) -> Waves:
    """Clips at other loudness, with noise."""
    gain = 10 ** (rng.uniform(-15, 5, (len(waves), 1)) / 20)
    loudness = np.sqrt(np.square(waves).mean(axis=1, keepdims=True))
    noise = loudness * 10 ** (-rng.uniform(10, 50, (len(waves), 1)) / 20)
    noisy = waves + noise * rng.standard_normal(waves.shape)
    varied: Waves = np.clip(gain * noisy, -1, 1).astype(np.float32)
    return varied


def export(network: Recogniser, path: Path) -> None:
    """Write a recogniser as an ONNX file: ``waveform`` in, ``probabilities`` out."""
    torch.onnx.export(
        _Probabilities(network).eval(),
        (torch.zeros(2, LENGTH),),
        path,
        input_names=["waveform"],
        output_names=["probabilities"],
        dynamic_axes={"waveform": {0: "batch"}, "probabilities": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
