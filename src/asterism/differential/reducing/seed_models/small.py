"""Small seed models that are no part of keras.applications."""

from __future__ import annotations

import keras
from keras import layers

from asterism.differential.reducing.seeds import SEED_MODELS


@SEED_MODELS.register("lenet5")
def lenet5() -> keras.Model:
    """LeNet-5 (LeCun et al., 1998) with rectifiers."""
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(120, activation="relu"),
            layers.Dense(84, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


@SEED_MODELS.register("alexnet")
def alexnet() -> keras.Model:
    """AlexNet (Krizhevsky et al., 2012) on 32×32 images, as published CIFAR-10 versions have it."""
    blocks: list[keras.layers.Layer] = []
    for filters, size, pooled in ((96, 5, True), (256, 5, True), (384, 3, False), (384, 3, False)):
        blocks += [
            layers.Conv2D(filters, size, padding="same", activation="relu"),
            layers.BatchNormalization(),
        ]
        blocks += [layers.MaxPooling2D(3, strides=2)] if pooled else []
    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            *blocks,
            layers.Conv2D(256, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


@SEED_MODELS.register("lstm1")
def lstm1() -> keras.Model:
    """Two LSTM layers over a series of numbers (sine forecasting)."""
    return keras.Sequential(
        [
            keras.Input((6, 4)),
            layers.LSTM(16, return_sequences=True),
            layers.LSTM(16),
            layers.Dense(1),
        ]
    )


@SEED_MODELS.register("lstm2")
def lstm2() -> keras.Model:
    """An LSTM over a series of prices (stock forecasting), with dropout."""
    return keras.Sequential(
        [
            keras.Input((8, 1)),
            layers.LSTM(32),
            layers.Dropout(0.2),
            layers.Dense(1),
        ]
    )
