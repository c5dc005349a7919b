"""Relevance of pixels: of which inputs, for which output, and back from its file."""

import keras
import numpy as np

from asterism.core.files.artifacts import read_arrays
from asterism.data import Dataset
from asterism.deepimportance import heatmaps as module
from asterism.deepimportance.heatmaps import compute_heatmaps
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.neurons import BATCH
from asterism.deepimportance.params import RelevanceParams
from asterism.models.images_and_scores import PreprocessingParams

L = keras.layers
UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0, 0.0, 0.0], std=[1.0, 1.0, 1.0])
RULES = RelevanceParams(composite="zero", epsilon=1e-6, alpha=3.0, gamma=0.25)


def dataset():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 4, 4, 3), np.uint8)
    labels = np.array([2, 0, 0, 2, 1, 0, 2, 1, 2, 0, 2, 0])
    return Dataset(images, labels, images, labels, 4)  # of class 3 there is none


def test_relevance_of_a_linear_network_is_that_of_its_weights(tmp_path, monkeypatch):
    """By LRP-0 a pixel's share of a score is its value times its weight."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4, 4, 3)), L.Flatten(), L.Dense(4, "softmax")])
    data = dataset()
    kernel = np.asarray(model.layers[-1].kernel).reshape(4, 4, 3, 4)
    for batch in (2, BATCH):
        monkeypatch.setattr(module, "BATCH", batch)
        found = compute_heatmaps(
            JudgedKeras(model, UNIT), RULES, data.test_images, data.test_labels
        )
        chosen = [1, 2, 5, 4, 7, 0, 3, 6]  # the first three of each class
        assert np.array_equal(found.images, data.test_images[chosen])
        assert found.labels.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
        for n, number in enumerate(chosen):
            pixels = data.test_images[number] / 255
            expected = (pixels * kernel[..., data.test_labels[number]]).sum(axis=-1)
            np.testing.assert_allclose(found.relevance[n], expected, rtol=1e-3, atol=1e-5)
    found.save(tmp_path)
    loaded = read_arrays(tmp_path / "heatmaps.npz")
    for name, values in vars(found).items():
        np.testing.assert_array_equal(loaded[name], values)
