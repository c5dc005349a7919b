"""The published architectures of keras.applications, with random weights."""

from __future__ import annotations

from functools import partial

import keras

from asterism.differential.reducing.seeds import SEED_MODELS


def _make(name: str) -> keras.Model:
    return getattr(keras.applications, name)(weights=None)


SEED_MODELS.register("densenet121")(partial(_make, "DenseNet121"))
SEED_MODELS.register("inceptionresnetv2")(partial(_make, "InceptionResNetV2"))
SEED_MODELS.register("inceptionv3")(partial(_make, "InceptionV3"))
SEED_MODELS.register("mobilenetv2")(partial(_make, "MobileNetV2"))
SEED_MODELS.register("resnet50")(partial(_make, "ResNet50"))
SEED_MODELS.register("xception")(partial(_make, "Xception"))
