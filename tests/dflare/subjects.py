"""Small subjects and their searches: linear classifiers of 6×6 images, one of them coarser."""

import numpy as np

from asterism.core.parameters.construction import NoOptions
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest, SearchTask, SeedBudget
from asterism.dflare.pair import ModelPair
from asterism.dflare.searches import SEARCHES
from asterism.models.isolated_model import ModelCrashError
from set_options import section

SHAPE = (6, 6, 1)
CLASSES = 4
OPERATORS = {
    "pixel_change": {"low": 1, "high": 6},
    "gaussian_noise": {"low": 1.0, "high": 60.0},
    "average_blur": {"sizes": [1, 2, 3]},
}
TOP_LABEL = TopLabelComparison(NoOptions(), ())
PAPER = {"fitness": "paper", "delta": 1e-3, "guided": True}
#: Each search's options: small ones, or those of the project.
OPTIONS = {s["search"]: s["options"] for s in section("trigger")["searches"].values()} | {
    "dflare": PAPER,
    "diffchaser": {"population": 8, "k": 2, "tournament": 2},
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


def crashing(model, on):
    """The model, which now crashes where ``on`` says so of one of its inputs."""
    healthy = model.predict

    def predict(items):
        if any(on(item) for item in items):
            raise ModelCrashError("it crashed")
        return healthy(items)

    model.predict = predict
    return model


def models(coarseness=0.5, seed=0):
    weights = np.random.default_rng(seed).normal(0, 1, (36, CLASSES)).astype(np.float32)
    coarse = (np.rint(weights / coarseness) * coarseness).astype(np.float32)
    return Linear(weights, "original"), Linear(coarse, "compressed")


def under_test(original=None, compressed=None, operators=None, **limits):
    f, g = models()
    pair = ModelPair(original or f, compressed or g)
    return PairUnderTest(
        pair,
        ImageDomain(operators or OPERATORS, NoOptions()),
        TOP_LABEL,
        **limits,
    )


def search(items, numbers=None, run_seed=0, budget=None, subject=None, name="dflare", **changed):
    """A search from seeds, by Dflare as published but for what is changed."""
    numbers = range(len(items)) if numbers is None else numbers
    task = SearchTask(
        name, subject or under_test(), budget or SeedBudget(60), items, numbers, run_seed
    )
    return SEARCHES[name](task, SEARCHES[name].Options(**OPTIONS[name] | changed))


def seeds(count=12, seed=0):
    """Images on which the two models agree, most of them."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, *SHAPE), dtype=np.uint8)
