"""Convolutional networks, without and with shortcuts.

* DAVE-2, which steers a car (Bojarski et al., "End to end learning for self-driving cars").
* LeNet-1, LeNet-4 and LeNet-5 (LeCun et al., 1989 to 1998), in the form that testing papers use:
  rectified linear units and maximum pooling in place of the historical sigmoids and trained
  averages, as in the models of DeepXplore, DeepHunter and Dflare.
* VGG-16 for small images (Simonyan and Zisserman, ICLR 2015, configuration D).
* A plain network: pairs of convolutions, pooling, one hidden dense layer.
* ResNet-20, ResNet-8 and PlainNet-20 (He et al., CVPR 2016, section 4.2): with and without
  shortcuts.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from asterism.models.architectures import ARCHITECTURES


@ARCHITECTURES.register("dave2")
def dave2(shape: tuple[int, int, int], outputs: int) -> keras.Model:
    """Five convolutions and four dense layers; one output without activation is an angle.

    The smallest images that it takes are 66×66. It ends in a softmax where ``outputs`` is more
    than one, as every architecture here does.
    """
    x = inputs = keras.Input(shape, name="images")
    for number, filters in enumerate((24, 36, 48), start=1):
        x = layers.Conv2D(filters, 5, strides=2, activation="relu", name=f"conv{number}")(x)
    for number in (4, 5):
        x = layers.Conv2D(64, 3, activation="relu", name=f"conv{number}")(x)
    x = layers.Flatten(name="flatten")(x)
    for number, units in enumerate((1164, 100, 50, 10), start=1):
        x = layers.Dense(units, activation="relu", name=f"dense{number}")(x)
    x = layers.Dense(outputs, name="before_output")(x)
    if outputs > 1:
        x = layers.Softmax(name="predictions")(x)
    return keras.Model(inputs, x, name="dave2")


def _lenet(
    name: str,
    shape: tuple[int, int, int],
    classes: int,
    filters: tuple[int, int],
    dense: tuple[int, ...],
) -> keras.Model:
    x = inputs = keras.Input(shape, name="images")
    for number, count in enumerate(filters, start=1):
        x = layers.Conv2D(count, 5, padding="same", activation="relu", name=f"conv{number}")(x)
        x = layers.MaxPooling2D(2, name=f"pool{number}")(x)
    x = layers.Flatten(name="flatten")(x)
    for number, units in enumerate(dense, start=1):
        x = layers.Dense(units, activation="relu", name=f"dense{number}")(x)
    x = layers.Dense(classes, name="before_softmax")(x)
    return keras.Model(inputs, layers.Softmax(name="predictions")(x), name=name)


@ARCHITECTURES.register("lenet1")
def lenet1(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """LeNet-1: two convolutions of 4 and 12 filters, no hidden dense layer."""
    return _lenet("lenet1", shape, classes, (4, 12), ())


@ARCHITECTURES.register("lenet4")
def lenet4(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """LeNet-4: 6 and 16 filters, one hidden dense layer of 84."""
    return _lenet("lenet4", shape, classes, (6, 16), (84,))


@ARCHITECTURES.register("lenet5")
def lenet5(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """LeNet-5: 6 and 16 filters, hidden dense layers of 120 and 84."""
    return _lenet("lenet5", shape, classes, (6, 16), (120, 84))


@ARCHITECTURES.register("plain_cnn")
def plain_cnn(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Two blocks of two 3×3 convolutions (32, then 64 filters) and a hidden layer of 128."""
    x = inputs = keras.Input(shape, name="images")
    for block, filters in enumerate((32, 64), start=1):
        for number in (1, 2):
            name = f"block{block}_conv{number}"
            x = layers.Conv2D(filters, 3, padding="same", activation="relu", name=name)(x)
        x = layers.MaxPooling2D(2, name=f"block{block}_pool")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(128, activation="relu", name="dense")(x)
    x = layers.Dense(classes, name="before_softmax")(x)
    return keras.Model(inputs, layers.Softmax(name="predictions")(x), name="plain_cnn")


#: Filters and number of convolutions of each block.
_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


@ARCHITECTURES.register("vgg16")
def vgg16(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """VGG-16 with batch normalisation, and one hidden dense layer of 512 for small images.

    A block whose input is a single pixel high or wide is not pooled any further.
    """
    x = inputs = keras.Input(shape, name="images")
    for filters, count in _BLOCKS:
        for _ in range(count):
            x = layers.Conv2D(
                filters, 3, padding="same", use_bias=False, kernel_initializer="he_normal"
            )(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        if min(x.shape[1], x.shape[2]) >= 2:
            x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(x))
    x = layers.Dense(classes, name="before_softmax")(x)
    return keras.Model(inputs, layers.Softmax(name="predictions")(x), name="vgg16")


def _convolution(x: Any, filters: int, stride: int, size: int = 3) -> Any:
    x = layers.Conv2D(
        filters, size, stride, padding="same", use_bias=False, kernel_initializer="he_normal"
    )(x)
    return layers.BatchNormalization()(x)


def _network(
    name: str, shape: tuple[int, int, int], classes: int, *, blocks: int, shortcuts: bool
) -> keras.Model:
    """A network of 6n + 2 layers, with n blocks in each of the three stages."""
    inputs = keras.Input(shape, name="images")
    x = layers.ReLU()(_convolution(inputs, 16, 1))
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(blocks):
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
    return _network("resnet20", shape, classes, blocks=3, shortcuts=True)


@ARCHITECTURES.register("resnet8")
def resnet8(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """ResNet-8: ResNet-20 with one residual block in each stage, such as for a student."""
    return _network("resnet8", shape, classes, blocks=1, shortcuts=True)


@ARCHITECTURES.register("plainnet20")
def plainnet20(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """PlainNet-20: ResNet-20 without its shortcuts."""
    return _network("plainnet20", shape, classes, blocks=3, shortcuts=False)
