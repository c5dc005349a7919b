"""Three small networks trained on scikit-learn's digits, and their quantised versions."""

import io
import logging
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnxruntime import quantization
from sklearn.datasets import load_digits
from torch import nn

from asterism.vetting.integer_sums import cuts_sums_off

logging.getLogger("onnxruntime.quantization").setLevel(logging.ERROR)

TRAINING, CALIBRATION = 1400, 200
NETWORKS = ("convolutional", "residual", "attention")
#: Of tests that compare sums of 8-bit products with exact ones.
EXACT = pytest.mark.skipif(cuts_sums_off(), reason="ONNX Runtime cuts such sums off here")
QUANTISATIONS = ("per_tensor", "per_channel", "uint8", "qoperator", "dynamic")


@cache
def digits():
    """Images ``(1797, 1, 8, 8)`` from 0 to 1, and labels."""
    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype(np.float32).reshape(-1, 1, 8, 8), labels


def convolutional():
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 10)),
    )


class Block(nn.Module):
    def __init__(self, given, channels):
        super().__init__()
        self.one = nn.Conv2d(given, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.two = nn.Conv2d(channels, channels, 3, padding=1)
        self.short = nn.Conv2d(given, channels, 1) if given != channels else nn.Identity()

    def forward(self, x):
        inner = self.two(torch.relu(self.norm(self.one(x))))
        return torch.relu(inner + self.short(x))


def residual():
    blocks = Block(1, 8), Block(8, 8), nn.AvgPool2d(2), Block(8, 16)
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class Attention(nn.Module):
    """Rows of an image as a sequence: two blocks of attention and a perceptron each."""

    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.parts = nn.ModuleList(
            nn.ModuleDict(
                {name: nn.Linear(width, width) for name in ("q", "k", "v", "out")}
                | {"up": nn.Linear(width, 32), "down": nn.Linear(32, width)}
                | {"one": nn.LayerNorm(width), "two": nn.LayerNorm(width)}
            )
            for _ in range(2)
        )
        self.place = nn.Parameter(torch.randn(1, 8, width) * 0.3)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.embed(x.squeeze(1)) + self.place
        for part in self.parts:
            y = part["one"](x)
            weights = part["q"](y) @ part["k"](y).transpose(1, 2) / 4.0
            x = x + part["out"](weights.softmax(-1) @ part["v"](y))
            x = x + part["down"](torch.relu(part["up"](part["two"](x))))
        return self.head(x.mean(1))


@cache
def trained(name):
    """A trained network as a serialised ONNX model."""
    network = {"convolutional": convolutional, "residual": residual, "attention": Attention}[name]
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = (torch.tensor(part[:TRAINING]) for part in digits())
    model = network()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2 if name != "attention" else 5e-3)
    for _ in range(12):
        for start in range(0, TRAINING, 100):
            chosen = slice(start, start + 100)
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()
    written = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(),
            (images[:2],),
            written,
            input_names=["images"],
            output_names=["logits"],
            dynamic_axes={"images": {0: "N"}},
            opset_version=17,
            dynamo=False,
        )
    torch.set_num_threads(threads)
    torch.set_rng_state(state)
    return written.getvalue()


class Images(quantization.CalibrationDataReader):
    def __init__(self):
        self._images = iter(digits()[0][:CALIBRATION])

    def get_next(self):
        image = next(self._images, None)
        return None if image is None else {"images": image[None]}


@cache
def quantised(name, how):
    """A quantised version as a serialised ONNX model."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    kinds = quantization.QuantType
    static = {
        "per_tensor": {},
        "per_channel": {"per_channel": True},
        "uint8": {"activation_type": kinds.QUInt8, "weight_type": kinds.QUInt8},
        "qoperator": {"quant_format": quantization.QuantFormat.QOperator},
    }
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "original.onnx", Path(folder) / "quantised.onnx"
        source.write_bytes(trained(name))
        if how == "dynamic":
            quantization.quantize_dynamic(source, target, weight_type=kinds.QUInt8)
        else:
            quantization.quantize_static(source, target, Images(), **static[how])
        content = target.read_bytes()
    logging.getLogger().setLevel(level)
    return content


def model(content):
    return onnx.load_model_from_string(content)
