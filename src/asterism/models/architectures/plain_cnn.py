"""A plain convolutional network: pairs of convolutions, pooling, one hidden dense layer."""

from __future__ import annotations

import keras
from keras import layers

from asterism.models.architectures import ARCHITECTURES


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
