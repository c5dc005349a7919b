"""Small models for searches: linear classifiers of 6×6 images, the compressed one coarser."""

import numpy as np

from asterism.dflare.comparisons.labels import TopLabel
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.pair import ModelPair

SHAPE = (6, 6, 1)
CLASSES = 4
OPERATORS = {
    "pixel_change": {"low": 1, "high": 6},
    "gaussian_noise": {"low": 1.0, "high": 60.0},
    "average_blur": {"sizes": [1, 2, 3]},
}


class Linear:
    """Softmax of a linear map, computed image by image so that no batch can matter."""

    def __init__(self, weights, name="linear"):
        self.weights = weights
        self.name = name
        self.classes = weights.shape[1]
        self.batches = []

    def predict(self, images):
        self.batches.append(len(images))
        rows = [image.astype(np.float32).ravel() / 255 @ self.weights for image in images]
        logits = np.array(rows, np.float32).reshape(len(images), self.weights.shape[1])
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)


def models(coarseness=0.5, seed=0):
    weights = np.random.default_rng(seed).normal(0, 1, (36, CLASSES)).astype(np.float32)
    coarse = (np.rint(weights / coarseness) * coarseness).astype(np.float32)
    return Linear(weights, "original"), Linear(coarse, "compressed")


def under_test(original=None, compressed=None, operators=None):
    f, g = models()
    pair = ModelPair(original or f, compressed or g)
    return PairUnderTest(pair, ImageDomain(operators or OPERATORS), TopLabel())


def seeds(count=12, seed=0):
    """Images on which the two models agree, most of them."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, *SHAPE), dtype=np.uint8)
