"""LeNet-1, LeNet-4 and LeNet-5 (LeCun et al., 1989 to 1998), in the form that testing papers use.

Rectified linear units and maximum pooling in place of the historical sigmoids and trained
averages, as in the models of DeepXplore, DeepHunter and Dflare.
"""

from __future__ import annotations

import keras
from keras import layers

from asterism.models.architectures import ARCHITECTURES


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
