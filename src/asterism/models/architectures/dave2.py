"""DAVE-2, which steers a car (Bojarski et al., "End to end learning for self-driving cars")."""

from __future__ import annotations

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
