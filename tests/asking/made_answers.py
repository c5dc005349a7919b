"""Answers as models of a kind give them, made up: float32 ``(n, ...)``."""

import numpy as np

COUNT = 60


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(classes=4, n=COUNT):
    return rng(1).integers(0, classes, n)


def logits(right, classes=4, wrong=0.1, strength=6.0):
    """Logits that are right but for a share of the inputs."""
    draw = rng(2)
    told = np.where(draw.random(len(right)) < wrong, draw.integers(0, classes, len(right)), right)
    return (strength * np.eye(classes)[told] + draw.normal(0, 1, (len(right), classes))).astype(
        np.float32
    )


def softmax(values, axis=-1):
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(np.float32)


def sigmoid(values):
    return (1 / (1 + np.exp(-np.asarray(values, np.float64)))).astype(np.float32)


def in_8_bits(values):
    """Probabilities as 8 bits keep them."""
    return (np.rint(values * 256) / 256).clip(0, 255 / 256).astype(np.float32)


def normal(*shape, scale=1.0, seed=3):
    return rng(seed).normal(0, scale, shape).astype(np.float32)


def spoken(classes=5, frames=20, blank=0, n=COUNT, lasts=(1, 3)):
    """Logits of symbols over frames, between which is the blank."""
    draw, told = rng(4), np.full((n, frames), blank)
    others = [c for c in range(classes) if c != blank]
    for row in told:
        at = int(draw.integers(0, 3))
        while at < frames - 1:
            end = at + int(draw.integers(*lasts))
            row[at:end] = draw.choice(others)
            at = end + int(draw.integers(1, 4))
    return (8 * np.eye(classes)[told] + draw.normal(0, 1, (n, frames, classes))).astype(np.float32)


def regions(classes=3, size=(16, 16), n=20):
    """Logits of classes at each place, the classes first."""
    draw, told = rng(5), np.zeros((n, *size), int)
    for row in told:
        for label in range(1, classes):
            top, left = draw.integers(0, size[0] // 2), draw.integers(0, size[1] // 2)
            row[top : top + size[0] // 3, left : left + size[1] // 3] = label
    maps = 7 * np.eye(classes)[told] + draw.normal(0, 1, (*told.shape, classes))
    return maps.transpose(0, 3, 1, 2).astype(np.float32)
