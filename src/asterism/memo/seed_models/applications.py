"""The published architectures of keras.applications, with random weights."""

from __future__ import annotations

from functools import partial

import keras

from asterism.memo.seeds import SEED_MODELS

_NAMES = (
    "DenseNet121",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNetV2",
    "ResNet50",
    "Xception",
)


def _make(name: str) -> keras.Model:
    return getattr(keras.applications, name)(weights=None)


for name in _NAMES:
    SEED_MODELS.register(name.lower())(partial(_make, name))
