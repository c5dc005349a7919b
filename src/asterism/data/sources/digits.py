"""The UCI handwritten digits that scikit-learn ships: no download needed."""

from __future__ import annotations

import cv2
import numpy as np

from asterism.data.sources import SOURCES, DataParams, Dataset

_TEST_SHARE = 0.2


@SOURCES.register("digits")
def digits(_params: DataParams) -> Dataset:
    """1,797 digits of 8×8 pixels with 17 grey levels, brought to 28×28×1 uint8.

    The split is stratified and always the same, so that a run's seed does not move test images
    into the training set.
    """
    # scikit-learn takes seconds to load, and whoever checks a data set's name loads this module.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    source = load_digits()
    levels = source.images.astype(np.float32) * (255 / 16)
    images = np.stack(
        [cv2.resize(level, (28, 28), interpolation=cv2.INTER_CUBIC) for level in levels]
    )
    images = np.clip(np.rint(images), 0, 255).astype(np.uint8)[..., np.newaxis]
    labels = source.target.astype(np.int64)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=_TEST_SHARE, stratify=labels, random_state=0
    )
    return Dataset(images[train], labels[train], images[test], labels[test], classes=10)
