"""VGG-16 for small images (Simonyan and Zisserman, ICLR 2015, configuration D)."""

from __future__ import annotations

import keras
from keras import layers

from asterism.models.architectures import ARCHITECTURES

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
