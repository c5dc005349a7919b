"""ResNet-20 and PlainNet-20 (He et al., CVPR 2016, section 4.2): with and without shortcuts."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from asterism.models.architectures import ARCHITECTURES

_BLOCKS_PER_STAGE = 3  # 6n + 2 layers with n = 3 make 20


def _convolution(x: Any, filters: int, stride: int, size: int = 3) -> Any:
    x = layers.Conv2D(
        filters, size, stride, padding="same", use_bias=False, kernel_initializer="he_normal"
    )(x)
    return layers.BatchNormalization()(x)


def _network(
    name: str, shape: tuple[int, int, int], classes: int, *, shortcuts: bool
) -> keras.Model:
    inputs = keras.Input(shape, name="images")
    x = layers.ReLU()(_convolution(inputs, 16, 1))
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(_BLOCKS_PER_STAGE):
            stride = 2 if stage > 0 and block == 0 else 1
            y = layers.ReLU()(_convolution(x, filters, stride))
            y = _convolution(y, filters, 1)
            if shortcuts:
                changes_shape = stride > 1
                y = layers.Add()([y, _convolution(x, filters, stride, 1) if changes_shape else x])
            x = layers.ReLU()(y)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(classes, kernel_initializer="he_normal", name="before_softmax")(x)
    return keras.Model(inputs, layers.Softmax(name="predictions")(x), name=name)


@ARCHITECTURES.register("resnet20")
def resnet20(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """ResNet-20: three stages of three residual blocks, 16, 32 and 64 filters."""
    return _network("resnet20", shape, classes, shortcuts=True)


@ARCHITECTURES.register("plainnet20")
def plainnet20(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """PlainNet-20: ResNet-20 without its shortcuts."""
    return _network("plainnet20", shape, classes, shortcuts=False)
