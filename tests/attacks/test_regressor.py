"""Attacks on regressors: how far they move the output, and to which side."""

import keras
import numpy as np
import pytest
from structlog.testing import capture_logs
from test_attacks import OPTIONS, UNIT, params

from asterism.attacks.deviations import AttackPlan, attack_regressor
from asterism.attacks.estimator import PixelRegressor
from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import ATTACKS, as_pixels
from asterism.core.files.artifacts import write_arrays

L = keras.layers
SHAPE = (6, 6, 1)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(90, 166, (80, *SHAPE)).astype(np.uint8)


def linear():
    """One weight a pixel: the farthest point of a box around an input is known."""
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input(SHAPE), L.Flatten(), L.Dense(1)])


def curved():
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [keras.Input(SHAPE), L.Conv2D(4, 3, activation="tanh"), L.Flatten(), L.Dense(1)]
    )


def attacked(model, images, **changes):
    settings = params(**changes)
    plan = AttackPlan.make(images, settings, 0)
    return attack_regressor(model, UNIT, images, plan, settings, 0.1, 0), plan.split


def test_attacks_that_need_classes_are_left_out(images):
    found, split = attacked(linear(), images)
    expected = [name for name in ATTACKS.names() if not ATTACKS[name].needs_classifier]
    assert list(found.moved) == expected == ["bim", "fgsm", "noise"]
    assert list(found.augmentations) == [*expected, "semantic"]
    assert np.isin(found.augmentations["semantic"].sources, [-1]).all()
    for name in expected:
        assert np.isin(found.augmentations[name].sources, split.base).all()
        assert len(found.augmentations[name].images) == 6


def test_own_natural_images_take_the_place_of_the_pools(images, tmp_path):
    own = tmp_path / "own.npz"
    write_arrays(own, images=images[:9])
    wanted = {"names": ["noise"], "semantic": "file", "semantic_path": str(own)}
    found, _ = attacked(linear(), images, **wanted)
    assert list(found.augmentations) == ["noise", "own"]
    assert len(found.augmentations["own"].images) == 6
    assert found.augmentations["own"].summary()["success"] is None  # nobody knows their angles
    assert "own" not in found.moved


def test_how_many_are_attacked_is_said_where_it_is_fewer_than_asked_for(images):
    with capture_logs() as told:
        assert AttackPlan.make(images, params(inputs=8, semantic="none"), 0).inputs == 8
        assert not told
        assert AttackPlan.make(images, params(inputs=9, semantic="none"), 0).inputs == 8
    assert [(line["wanted"], line["possible"]) for line in told] == [(9, 8)]


def test_what_is_left_out_is_said(images):
    with capture_logs() as told:
        attacked(linear(), images, names=["jsma", "fgsm", "carlini_wagner"], semantic="none")
    assert [line["attacks"] for line in told if "attacks" in line] == [["jsma", "carlini_wagner"]]


def test_a_linear_regressor_is_moved_as_far_as_it_can_be(images):
    model = linear()
    found, _ = attacked(
        model, images, options=OPTIONS | {"fgsm": {"eps": 0.2}}, names=["fgsm", "bim"]
    )
    reach = 0.2 * np.abs(np.asarray(model.layers[-1].kernel)).sum()
    np.testing.assert_allclose(found.moved["fgsm"], reach, rtol=1e-3)
    reach = 0.3 * np.abs(np.asarray(model.layers[-1].kernel)).sum()
    np.testing.assert_allclose(found.moved["bim"], reach, rtol=1e-3)


def test_what_is_said_to_have_moved_has(images):
    model = curved()
    found, _ = attacked(model, images)
    for name, moved in found.moved.items():
        augmentation = found.augmentations[name]
        outputs = (
            model.predict(x, verbose=0)[:, 0]
            for x in (augmentation.images, as_pixels(images[augmentation.sources]))
        )
        np.testing.assert_allclose(np.abs(np.subtract(*outputs)), moved, rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(augmentation.success, moved > 0.1)
        assert augmentation.images.min() >= 0
        assert augmentation.images.max() <= 1
    assert found.moved["bim"].mean() >= found.moved["fgsm"].mean() > found.moved["noise"].mean()
    assert found.augmentations["fgsm"].linf.max() <= 0.3 + 1e-6


def test_the_farther_side_is_taken(images):
    model = keras.Sequential([keras.Input(SHAPE), L.Flatten(), L.Dense(1), L.ReLU()])
    keras.utils.set_random_seed(0)
    weights = np.full((36, 1), 0.05)
    model.layers[-2].set_weights([weights, np.array([-0.9])])
    # Near zero the output can only rise.
    found, _ = attacked(model, images, names=["fgsm"], options=OPTIONS | {"fgsm": {"eps": 0.2}})
    regressor, fgsm = PixelRegressor(KerasNetwork(model, UNIT)), found.augmentations["fgsm"]
    outputs, before = map(regressor.predict, (fgsm.images, as_pixels(images[fgsm.sources])))
    positive = before > 0
    assert positive.any()
    assert (outputs[positive] > before[positive]).all()


def test_gradients_lead_away_from_the_target():
    model = linear()
    weights = model.layers[-1].kernel.numpy()[:, 0]
    pixels = np.random.default_rng(1).random((3, *SHAPE), np.float32)
    outputs = pixels.reshape(3, -1).astype(np.float64) @ weights + float(model.layers[-1].bias[0])
    regressor = PixelRegressor(KerasNetwork(model, UNIT))
    targets = np.array([0, 10, -10], np.float32)
    steps = regressor.loss_gradient(pixels, targets)
    farther = np.sign(outputs - targets)[:, None] * weights
    assert steps.reshape(3, -1) == pytest.approx(farther, abs=1e-5)
