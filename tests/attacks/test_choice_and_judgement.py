"""What is attacked, with which settings, and what counts as a success; functions as models."""

import keras
import numpy as np
import pytest
from test_attacks import UNIT, attack, params

from asterism.attacks import augmenting, estimator
from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.augmenting import choose_farthest, read_natural, read_natural_augmentations
from asterism.attacks.deviations import AttackPlan, Deviations
from asterism.attacks.estimator import PixelEstimator, PixelRegressor
from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import AttackSeeds, draw_direction, draw_noise_of_length
from asterism.core.files.artifacts import write_arrays
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream


class ByBrightness:
    """Puts a one-pixel image into a class by its level, of four; notes how many it is given."""

    nb_classes = 4

    def __init__(self):
        self.sizes = []

    def predict(self, pixels):
        self.sizes.append(len(pixels))
        level = np.minimum((pixels.reshape(len(pixels), -1)[:, 0] * 4).astype(int), 3)
        return np.eye(4)[level]

    def correct(self, images, labels):
        return PixelEstimator.correct(self, images, labels)

    def aim(self, victims):
        return f"away from {victims.labels.tolist()}"


def one_pixel(*levels):
    return np.array(levels, np.uint8).reshape(-1, 1, 1, 1)


def pixels(*values):
    return np.array(values, np.float32).reshape(-1, 1, 1, 1)


def test_images_that_are_put_into_their_classes_are_found_batch_by_batch(monkeypatch):
    monkeypatch.setattr(estimator, "_BATCH", 3)
    model = ByBrightness()
    images, labels = one_pixel(0, 70, 200, 130, 255, 10, 63), np.array([0, 0, 3, 2, 3, 1, 0])
    assert model.correct(images, labels).tolist() == [0, 2, 3, 4, 6]
    assert model.sizes == [3, 3, 1]


@pytest.mark.parametrize("chunk", [2, 512])
def test_natural_images_are_the_farthest_from_the_base_and_the_chosen(monkeypatch, chunk):
    """Gonzalez' traversal, distance by distance."""
    monkeypatch.setattr(augmenting, "_CHUNK", chunk)
    rng = np.random.default_rng(3)
    pool, base = (rng.integers(0, 256, (n, 2, 3, 1)).astype(np.uint8) for n in (9, 5))

    def distance(one, other):
        return sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), other.ravel(), strict=True))

    near, expected = [base[n] for n in range(5)], []
    for _ in range(9):
        left = [n for n in range(9) if n not in expected]
        best = max(left, key=lambda n: min(distance(pool[n], other) for other in near))
        expected.append(best)
        near.append(pool[best])
    assert choose_farthest(pool, base, 9).tolist() == expected
    assert choose_farthest(pool, base, 4).tolist() == expected[:4]
    with pytest.raises(UserError, match="the pool has 9"):
        choose_farthest(pool, base, 10)


def test_where_natural_images_come_from(tmp_path):
    images = np.arange(80, dtype=np.uint8).reshape(20, 2, 2, 1)
    split = InputSplit(np.arange(10), np.arange(10, 20))
    assert read_natural_augmentations(images, split, 3, params(semantic="none"), 0) == {}
    pool = read_natural_augmentations(images, split, 3, params(semantic="pool"), 0)
    assert list(pool) == ["semantic"]
    assert pool["semantic"].positions.tolist()[:1] == [19]
    np.testing.assert_array_equal(
        pool["semantic"].images, images[pool["semantic"].positions] / np.float32(255)
    )
    path = tmp_path / "own.npz"
    write_arrays(path, images=images[:6])
    np.testing.assert_array_equal(read_natural(path, (2, 2, 1)), images[:6])
    asked = params(semantic="file", semantic_path=str(path))
    own = read_natural_augmentations(images, split, 4, asked, 0)
    assert list(own) == ["own"] and len(own["own"].images) == 4
    drawn = np.sort(stream(0, "attack", "own").permutation(6)[:4])
    np.testing.assert_array_equal(own["own"].images, images[drawn] / np.float32(255))
    assert own["own"].positions.tolist() == [-1] * 4
    wanted = r"own\.npz needs an array `images`, uint8 of shape \(N, 2, 2, 1\)"
    for bad, message in (
        (images.astype(np.float32), wanted),
        (images[:, :1], wanted),
        (images[:0], r"own\.npz holds no images"),
    ):
        write_arrays(path, images=bad)
        with pytest.raises(UserError, match=message):
            read_natural_augmentations(images, split, 4, asked, 0)


def test_the_saliency_map_aims_at_another_class_of_each_input_s_own(monkeypatch):
    made = []

    class Published:
        def __init__(self, model, **settings):
            made.append([model, settings])

        def generate(self, images, aim):
            made[-1].append((images, aim))
            return images + 1

    monkeypatch.setattr("art.attacks.evasion.SaliencyMapMethod", Published)
    jsma, model = attack("jsma", theta=0.5, gamma=0.25), ByBrightness()
    victims = AttackSeeds(pixels(0.1, 0.6, 0.9), np.array([0, 2, 3]), np.array([4, 6, 8]), 5)
    found = jsma.perturb(model, victims)
    ((used, given, (images, aim)),) = made
    assert used is model
    assert given.items() >= {"theta": 0.5, "gamma": 0.25, "batch_size": 4}.items()
    np.testing.assert_array_equal(found, images + 1)
    assert aim.shape == (3, 4) and (aim.sum(axis=1) == 1).all()
    targets = aim.argmax(axis=1)
    expected = [
        (label + int(stream(5, "attack", "jsma", source).integers(1, 4))) % 4
        for label, source in zip((0, 2, 3), (4, 6, 8), strict=True)
    ]
    assert targets.tolist() == expected and (targets != victims.labels).all()


def test_noise_is_each_input_s_own_and_as_strong_as_asked_for():
    images = np.full((3, 4, 4, 1), 0.5, np.float32)
    given = AttackSeeds(images, np.zeros(3, np.int64), np.array([7, 8, 7]), 5)
    found = attack("noise", std=0.25).perturb(None, given)
    drawn = [stream(5, "attack", "noise", n).standard_normal((4, 4, 1), np.float32) for n in (7, 8)]
    np.testing.assert_allclose(found[0], 0.5 + 0.25 * drawn[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], 0.5 + 0.25 * drawn[1], rtol=1e-6)
    np.testing.assert_array_equal(found[2], found[0])
    np.testing.assert_array_equal(draw_direction(5, "noise", 8, images[0]), drawn[1])
    control = draw_noise_of_length(images[:1], np.array([0.01]), np.array([7]), 5)
    along = stream(5, "attack", "control", 7).standard_normal((4, 4, 1), np.float32)
    expected = 0.5 + 0.01 * along / np.sqrt(np.square(along).sum())
    np.testing.assert_allclose(control[0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("share", "wanted", "inputs"), [(0.5, 99, 8), (0.75, 99, 4), (0.25, 99, 4), (0.5, 3, 3)]
)
def test_a_fifth_of_the_smaller_side_is_attacked_at_most(share, wanted, inputs):
    images = np.zeros((80, 1, 1, 1), np.uint8)
    plan = AttackPlan.make(images, params(inputs=wanted, base_share=share, semantic="none"), 3)
    assert plan.inputs == inputs and plan.natural == {}
    assert plan.split.base.tolist() == InputSplit.draw(80, share, 3).base.tolist()


@pytest.mark.parametrize(("share", "needed"), [(0.5, 10), (0.25, 20), (0.75, 20), (0.8, 25)])
def test_so_many_images_are_needed(share, needed):
    asked = params(base_share=share, semantic="none")
    assert AttackPlan.make(np.zeros((needed, 1, 1, 1), np.uint8), asked, 0).inputs == 1
    with pytest.raises(UserError, match=f"{needed - 1} test .*at least {needed} are needed"):
        AttackPlan.make(np.zeros((needed - 1, 1, 1, 1), np.uint8), asked, 0)


def test_what_has_moved_is_told_of_attacked_images_only():
    before = AttackSeeds(pixels(0.1, 0.3), np.array([0, 1]), np.array([4, 6]), 0)
    hit = np.array([True, False])
    sets = {
        "fgsm": AugmentationSet.attacked(pixels(0.3, 0.3), before, hit, hit),
        "own": AugmentationSet.natural(pixels(0.1)),
    }
    found = Deviations(sets, {"fgsm": np.array([1.5, 0.5])}).per_input()
    assert found["fgsm_moved"].tolist() == [1.5, 0.5]
    assert found["fgsm_success"].tolist() == [True, False]
    assert found["fgsm_sources"].tolist() == [4, 6]
    assert all(name.startswith("fgsm_") for name in found)


@pytest.mark.parametrize("kind", [PixelEstimator, PixelRegressor])
def test_a_model_is_attacked_as_it_is_used_on_pixels_between_0_and_1(kind):
    """Not as it is trained, when dropout would change its outputs."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    parts = [keras.Input((2, 2, 1)), layers.Flatten(), layers.Dropout(0.9), layers.Dense(2)]
    model = keras.Sequential(parts)
    given = np.random.default_rng(0).random((300, 2, 2, 1), np.float32)
    kernel, bias = model.get_weights()
    expected = given.reshape(300, 4) @ kernel + bias
    found = kind(KerasNetwork(model, UNIT))
    outputs = expected if kind is PixelEstimator else expected[:, 0]
    np.testing.assert_allclose(found.predict(given), outputs, rtol=1e-4, atol=1e-5)
    assert [float(end) for end in found.clip_values] == [0.0, 1.0]
    assert found.input_shape == (2, 2, 1)
