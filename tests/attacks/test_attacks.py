"""Every registered attack on a real classifier, and what surrounds them."""

import keras
import numpy as np
import pytest
import torch
from foolbox.attacks.carlini_wagner import L2CarliniWagnerAttack
from foolbox.criteria import Misclassification
from foolbox.models.pytorch import PyTorchModel
from structlog.testing import capture_logs

from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.augmenting import make_augmentations
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.keras_network import KerasNetwork, build_pixel_function
from asterism.attacks.methods import (
    ATTACKS,
    AttackParams,
    AttackSeeds,
    as_levels,
    as_pixels,
    build_attacks,
    draw_noise_of_length,
    l2,
    linf,
)
from asterism.attacks.torch_network import TorchNetwork
from asterism.core.files.artifacts import write_arrays
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import read_yaml
from asterism.data import DataParams, load
from asterism.deepimportance.fitting import fit_criteria
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.models.images_and_scores import FROM_PROBABILITIES, PreprocessingParams
from asterism.models.keras_models.layers import cut_softmax, require_images_of
from places import ROOT
from set_options import section

L = keras.layers
UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
CENTRED = PreprocessingParams(scale=1 / 255, mean=[0.2], std=[0.5])
ADVERSARIAL = ["bim", "carlini_wagner", "fgsm", "jsma"]


def on_keras(model, preprocessing):
    return PixelEstimator(KerasNetwork(cut_softmax(model), preprocessing))


def on_torch(function, preprocessing, width=10):
    network = TorchNetwork(function, preprocessing, (28, 28, 1), width, torch.zeros(()))
    return PixelEstimator(network)


def test_a_model_of_other_data_is_rejected_in_one_line():
    images = np.zeros((4, 32, 32, 3), np.uint8)
    for free in ((28, 28, 1), (None, None, 1)):
        model = keras.Sequential([L.Input(free), L.GlobalMaxPool2D(), L.Dense(3)])
        with pytest.raises(UserError, match=r"\(32, 32, 3\)"):
            require_images_of(model, images)
        with pytest.raises(UserError, match="other data"):
            fit_criteria(JudgedKeras(model, UNIT), images, np.zeros(4, int), None, None)
    require_images_of(model, np.zeros((2, 5, 7, 1)))


def test_a_split_of_another_test_set_is_rejected_in_one_line(tmp_path):
    split = InputSplit.draw(10, 0.5, 0)
    write_arrays(tmp_path / "split.npz", base=split.base, pool=split.pool)
    assert (InputSplit.load(tmp_path / "split.npz", 10).base == split.base).all()
    with pytest.raises(UserError, match=r"10 .*12"):
        InputSplit.load(tmp_path / "split.npz", 12)


OPTIONS = section("attack")["options"] | {
    "fgsm": {"eps": 0.3},
    "bim": {"eps": 0.3, "step": 0.05, "iterations": 10},
    "carlini_wagner": {
        "inputs": 4,
        "confidence": 0.0,
        "learning_rate": 0.05,
        "binary_search_steps": 3,
        "iterations": 60,
        "abort_early": True,
        "initial_const": 1.0,
    },
    "jsma": {"theta": 1.0, "gamma": 1.0},
    "noise": {"std": 0.3},
}


def params(**changes):
    defaults = {
        "names": ATTACKS.names(),
        "inputs": 6,
        "base_share": 0.5,
        "batch": 4,
        "rnn_inputs": 20,
        "options": OPTIONS,
        "semantic": "pool",
        "semantic_path": "conf/no_file",
    }
    return AttackParams(**defaults | changes)


def attack(name, **options):
    """One attack, with options that differ from those above."""
    return build_attacks(params(names=[name], options={name: OPTIONS[name] | options}))[name]


@pytest.fixture(scope="module")
def digits():
    return load(DataParams(name="digits", path="conf/no_file", train=600, test=200))


@pytest.fixture(scope="module")
def classifier(digits):
    keras.utils.set_random_seed(0)
    body = [keras.Input((28, 28, 1)), L.AveragePooling2D(2), L.Flatten(), L.Dense(32, "relu")]
    model = keras.Sequential([*body, L.Dense(10, "softmax")])
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(CENTRED.apply(digits.train_images), digits.train_labels, epochs=8, verbose=0)
    return model


@pytest.fixture(scope="module")
def victims(classifier, digits):
    predicted = classifier.predict(CENTRED.apply(digits.test_images), verbose=0).argmax(1)
    chosen = np.flatnonzero(predicted == digits.test_labels)[:5]
    return AttackSeeds(as_pixels(digits.test_images[chosen]), digits.test_labels[chosen], chosen, 0)


@pytest.fixture(scope="module")
def estimator(classifier):
    return on_keras(classifier, CENTRED)


def test_the_estimator_gives_logits_and_their_gradients(estimator, classifier, victims):
    logits = estimator.predict(victims.images)
    probabilities = classifier.predict((victims.images - 0.2) / 0.5, verbose=0)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        shifted / shifted.sum(axis=1, keepdims=True), probabilities, atol=1e-4
    )
    assert not np.allclose(logits.sum(axis=1), 1)
    labels = np.array([3, 1, 4, 1, 5])
    gradient = estimator.class_gradient(victims.images, labels)[:, 0]
    direction = np.random.default_rng(0).normal(size=gradient.shape).astype(np.float32)
    step = 1e-3 * direction
    rows = np.arange(5)
    rise = (estimator.predict(victims.images + step) - estimator.predict(victims.images - step))[
        rows, labels
    ]
    np.testing.assert_allclose((gradient * step).sum((1, 2, 3)) * 2, rise, rtol=0.1, atol=1e-3)


def test_the_lead_of_a_class_and_its_gradient(estimator, victims):
    logits, rows = estimator.predict(victims.images), np.arange(5)
    own = victims.labels
    others = np.where(np.eye(10, dtype=bool)[own], -np.inf, logits)
    second = others.argmax(axis=1)
    weights = np.float32([2, 0, 0.5, 1, 3])
    for labels, rivals in ((own, second), (second, own)):
        lead, gradient = estimator.lead(victims.images, labels, weights, 0.0)
        np.testing.assert_allclose(lead, logits[rows, labels] - logits[rows, rivals], rtol=1e-5)
        expected = estimator.class_gradient(victims.images, labels)[:, 0]
        expected = expected - estimator.class_gradient(victims.images, rivals)[:, 0]
        expected = weights.reshape(-1, 1, 1, 1) * expected * (lead > 0).reshape(-1, 1, 1, 1)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)
    # Behind by less than the margin that is asked for: it is still to be lowered.
    lead, gradient = estimator.lead(victims.images, second, weights, 100.0)
    assert (lead < 0).all()
    assert (np.abs(gradient).max(axis=(1, 2, 3)) > 0).tolist() == [True, False, True, True, True]


@pytest.fixture(scope="module")
def attacked(estimator, victims):
    """What each attack makes of the victims, made when it is first asked for."""
    attacks = build_attacks(params())

    class Made(dict):
        def __missing__(self, name):
            self[name] = np.clip(attacks[name].perturb(estimator, victims), 0, 1)
            return self[name]

    return Made()


@pytest.mark.parametrize("name", ATTACKS.names())
def test_an_input_is_attacked_as_if_alone(estimator, victims, attacked, name):
    one, together = attack(name), attacked[name]
    assert together.shape == victims.images.shape
    assert (l2(together, victims.images) > 0).all()
    alone = np.clip(one.perturb(estimator, victims.part(2, 3)), 0, 1)
    np.testing.assert_allclose(alone[0], together[2], atol=1e-3)
    again = np.clip(one.perturb(estimator, victims), 0, 1)
    np.testing.assert_array_equal(again, together)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_an_attack_makes_the_classifier_fail(estimator, victims, attacked, name):
    found = attacked[name]
    wrong = estimator.predict(found.astype(np.float32)).argmax(1) != victims.labels
    assert wrong.mean() >= 0.8
    if name in ("fgsm", "bim"):
        assert np.abs(found - victims.images).max() <= 0.3 + 1e-6


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_module_is_attacked_as_the_same_network_of_keras(classifier, victims, attacked, name):
    hidden, last = ([torch.tensor(w) for w in classifier.layers[i].get_weights()] for i in (2, 3))

    def logits(x):
        pooled = torch.nn.functional.avg_pool2d(x, 2).flatten(1)
        return torch.relu(pooled @ hidden[0] + hidden[1]) @ last[0] + last[1]

    found = np.clip(attack(name).perturb(on_torch(logits, CENTRED), victims), 0, 1)
    alike = np.isclose(found, attacked[name], atol=1e-3).mean()
    assert alike > 0.99, "signs of gradients that are almost 0 may differ"


def test_carlini_wagner_finds_the_closest(victims, attacked):
    distances = {name: l2(attacked[name], victims.images) for name in ADVERSARIAL}
    for name in ("fgsm", "bim", "jsma"):
        assert distances["carlini_wagner"].mean() < distances[name].mean()


def test_carlini_wagner_reaches_the_boundary_of_a_linear_classifier():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4, 4, 1)), L.Flatten(), L.Dense(2)])
    estimator = on_keras(model, UNIT)
    images = np.random.default_rng(0).uniform(0.35, 0.65, (3, 4, 4, 1)).astype(np.float32)
    labels = estimator.predict(images).argmax(1).astype(np.int64)
    thorough = {"binary_search_steps": 7, "iterations": 150, "abort_early": False}
    found = attack("carlini_wagner", **thorough).perturb(
        estimator, AttackSeeds(images, labels, np.arange(3), 0)
    )
    kernel, bias = (np.asarray(w) for w in model.layers[-1].weights)
    normal = kernel[:, 0] - kernel[:, 1]
    margin = np.abs(images.reshape(3, -1) @ normal + bias[0] - bias[1])
    shortest = margin / np.linalg.norm(normal)
    reached = l2(found, images)
    assert (reached >= shortest * 0.999).all()
    assert (reached <= shortest * 1.05).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"abort_early": False, "confidence": 0.1, "learning_rate": 0.2},
        {"binary_search_steps": 10, "iterations": 15, "initial_const": 1e-3},
    ],
)
def test_carlini_wagner_is_foolboxs_input_by_input(digits, options):
    given = OPTIONS["carlini_wagner"] | options
    torch.manual_seed(0)
    layers = torch.nn.Linear(784, 8), torch.nn.Tanh(), torch.nn.Linear(8, 10)
    network = torch.nn.Sequential(torch.nn.Flatten(), *layers).eval()
    estimator = on_torch(network, UNIT)
    images = as_pixels(digits.test_images[:5])
    labels = estimator.predict(images).argmax(axis=1)
    together = attack("carlini_wagner", **options).perturb(
        estimator, AttackSeeds(images, labels, np.arange(5), 0)
    )
    foolboxs = L2CarliniWagnerAttack(
        binary_search_steps=given["binary_search_steps"],
        steps=given["iterations"],
        stepsize=given["learning_rate"],
        confidence=given["confidence"],
        initial_const=given["initial_const"],
        abort_early=given["abort_early"],
    )
    subject = PyTorchModel(network, bounds=(0, 1), device="cpu")
    for i in range(5):
        one = torch.tensor(images[i : i + 1]).movedim(-1, 1)
        alone = foolboxs.run(subject, one, Misclassification(torch.tensor(labels[i : i + 1])))
        assert alone.any()  # it is all black where nothing was found
        np.testing.assert_allclose(together[i], alone[0].movedim(0, -1).numpy(), atol=2e-3)


def test_distances_and_levels_are_their_definitions():
    rng = np.random.default_rng(2)
    one, two = (rng.random((4, 3, 2, 2)).astype(np.float32) for _ in range(2))
    for i in range(4):
        changes = [float(a) - float(b) for a, b in zip(one[i].ravel(), two[i].ravel(), strict=True)]
        assert l2(one, two)[i] == pytest.approx(sum(c * c for c in changes) ** 0.5)
        assert linf(one, two)[i] == pytest.approx(max(map(abs, changes)))
    levels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    assert np.array_equal(as_levels(as_pixels(levels)), levels)
    assert as_levels(np.float32([0.0, 0.0019, 0.0021, 0.999, 1.0])).tolist() == [0, 0, 1, 255, 255]


def test_an_attack_that_fails_gives_the_input_back(estimator, victims):
    hopeless = attack("carlini_wagner", iterations=1, binary_search_steps=1, confidence=50.0)
    found = hopeless.perturb(estimator, victims)
    np.testing.assert_array_equal(found, victims.images)


def test_random_changes_have_the_length_that_is_asked_for():
    images = np.random.default_rng(0).choice([0.0, 1.0], (5, 6, 6, 1)).astype(np.float32)
    lengths = np.array([0.01, 0.5, 1.0, 2.0, 1e6])
    found = draw_noise_of_length(images, lengths, np.arange(5), 0)
    assert found.min() >= 0
    assert found.max() <= 1
    np.testing.assert_allclose(l2(found, images)[:4], lengths[:4], rtol=1e-3)
    assert l2(found, images)[4] < 6  # every pixel can move by 1 at most
    alone = draw_noise_of_length(images[3:4], lengths[3:4], np.array([3]), 0)
    np.testing.assert_array_equal(alone[0], found[3])


def augmented(estimator, digits, **changes):
    """The augmentations of the digits' test set, of which one half is attacked."""
    split = InputSplit.draw(200, 0.5, 0)
    images, labels = digits.test_images, digits.test_labels
    return make_augmentations(estimator, images, labels, split, params(**changes), 0)


def test_augmentations_are_judged_and_kept(estimator, classifier, digits, tmp_path):
    split, found = InputSplit.draw(200, 0.5, 0), augmented(estimator, digits)
    assert list(found) == [*ATTACKS.names(), "semantic"]
    assert len(found["carlini_wagner"].images) == 4
    victims = found["fgsm"].sources
    assert np.isin(victims, split.base).all() and len(set(victims.tolist())) == 6
    before = classifier.predict(CENTRED.apply(digits.test_images[victims]), verbose=0)
    assert (before.argmax(1) == digits.test_labels[victims]).all()
    assert found["fgsm"].linf.max() <= 0.3 + 1e-6
    assert found["semantic"].summary()["l2_mean"] is None
    assert found["semantic"].summary()["success"] is not None
    own = found["semantic"].positions
    assert np.isin(own, split.pool).all()
    np.testing.assert_array_equal(found["semantic"].images, as_pixels(digits.test_images[own]))
    for name, augmentation in found.items():
        assert augmentation.images.min() >= 0
        assert augmentation.images.max() <= 1
        augmentation.save(tmp_path / f"{name}.npz")
        loaded = AugmentationSet.load(tmp_path / f"{name}.npz")
        np.testing.assert_array_equal(loaded.images, augmentation.images)
        assert loaded.summary() == augmentation.summary()
    # Success is what the classifier itself says, of the images and of their 8-bit versions.
    for augmentation in found.values():
        own = np.where(augmentation.sources >= 0, augmentation.sources, augmentation.positions)
        rounded = np.rint(augmentation.images * 255).astype(np.uint8)
        for images, success in (
            ((augmentation.images - 0.2) / 0.5, augmentation.success),
            (CENTRED.apply(rounded), augmentation.success_rounded),
        ):
            wrong = classifier.predict(images, verbose=0).argmax(1) != digits.test_labels[own]
            np.testing.assert_array_equal(success, wrong)
    # That each attack repeats itself is tested above; the choice of victims must as well.
    again = augmented(estimator, digits, names=["fgsm", "noise"])
    for name, augmentation in again.items():
        np.testing.assert_array_equal(augmentation.images, found[name].images)


def test_own_natural_images(estimator, digits, tmp_path):
    own = tmp_path / "own.npz"
    wanted = {"names": ["noise"], "semantic": "file", "semantic_path": str(own)}
    write_arrays(own, images=digits.test_images[:200])
    drawn = augmented(estimator, digits, **wanted)["own"]
    assert len(drawn.images) == 6
    # Nobody knows their classes, and they were not made by changes.
    assert set(drawn.summary().items()) == {
        ("inputs", 6),
        *((name, None) for name in ("success", "success_rounded", "l2_mean", "linf_mean")),
    }
    write_arrays(own, images=digits.test_images[:2])
    few = augmented(estimator, digits, **wanted)["own"]
    np.testing.assert_array_equal(few.images, as_pixels(digits.test_images[:2]))


@pytest.mark.parametrize("reached", [True, False])
def test_a_start_from_probabilities_is_told(digits, reached):
    keras.utils.set_random_seed(0)
    size, behind = (14, L.Flatten()) if reached else (13, L.GlobalAveragePooling2D())
    scores = L.Conv2D(10, size, activation="softmax")
    model = keras.Sequential([keras.Input((28, 28, 1)), L.AveragePooling2D(2), scores, behind])
    labels = model.predict(UNIT.apply(digits.test_images), verbose=0).argmax(1)
    wanted, split = params(names=["fgsm"], semantic="none"), InputSplit.draw(200, 0.5, 0)
    with capture_logs() as told:
        make_augmentations(on_keras(model, UNIT), digits.test_images, labels, split, wanted, 0)
    assert [line["event"] for line in told].count(FROM_PROBABILITIES) == (0 if reached else 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": 150, "semantic": "none"}, "lower it"),
        ({"inputs": 150}, "the pool has 100"),
        ({"names": ["x"]}, "no attack"),
        ({"options": OPTIONS | {"x": {}}}, "no attack"),
        ({"options": OPTIONS | {"bim": {"epss": 1.0}}}, "options of bim: .*did you mean 'eps'"),
        ({"names": ["bim"], "options": {}}, "options of bim: the parameter eps is missing"),
    ],
)
def test_impossible_wishes_are_one_line(estimator, digits, changes, message):
    with pytest.raises(UserError, match=message):
        augmented(estimator, digits, **changes)


@pytest.mark.parametrize("name", ["unit", "symmetric", "imagenet", "cifar10"])
def test_a_function_of_the_input_becomes_one_of_pixels(name):
    values = read_yaml(ROOT / f"conf/preprocessing/{name}.yaml")
    preprocessing = validate(PreprocessingParams, values)
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 3, 3), np.uint8)
    found = build_pixel_function(lambda inputs: inputs, preprocessing)(images / np.float32(255))
    np.testing.assert_allclose(found, preprocessing.apply(images), rtol=1e-4, atol=1e-4)
