"""The published architectures of keras.applications, with random weights, and small models."""

from __future__ import annotations

from functools import partial

import keras
from keras import layers

from asterism.differential.reducing.seed_models import SEED_MODELS


def _make(name: str) -> keras.Model:
    return getattr(keras.applications, name)(weights=None)


SEED_MODELS.register("densenet121")(partial(_make, "DenseNet121"))
SEED_MODELS.register("inceptionresnetv2")(partial(_make, "InceptionResNetV2"))
SEED_MODELS.register("inceptionv3")(partial(_make, "InceptionV3"))
SEED_MODELS.register("mobilenetv2")(partial(_make, "MobileNetV2"))
SEED_MODELS.register("resnet50")(partial(_make, "ResNet50"))
SEED_MODELS.register("xception")(partial(_make, "Xception"))


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
