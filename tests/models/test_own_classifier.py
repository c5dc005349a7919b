"""classifier=file: the user's own Keras classifier in every supported form."""

import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras_2_files import convolutional, write_keras_2
from small_trainings import UNIT
from small_trainings import digits as digits_of

from asterism.config import compose
from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError
from asterism.models.classifier import FileClassifier
from asterism.models.images_and_scores import image_shape, require_vector
from asterism.models.params import ClassifierFile
from asterism.models.training.image_classifier import obtain_classifier
from places import ROOT
from thinning import every


@pytest.fixture(scope="module")
def digits():
    return digits_of(20, 10)


def small():
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(10, "softmax")]
    )


def obtain(path, digits, weights="conf/no_file"):
    params = ClassifierFile(source="file", path=str(path), weights=str(weights))
    return obtain_classifier(params, UNIT, digits, 0)


def test_a_model_of_two_files(tmp_path, digits):
    model = small()
    (tmp_path / "m.json").write_text(model.to_json())
    model.save(tmp_path / "m.h5")
    found, history = obtain(tmp_path / "m.json", digits, tmp_path / "m.h5")
    np.testing.assert_allclose(found.get_weights()[0], model.get_weights()[0])
    assert history["loss"] == []
    with pytest.raises(UserError, match=r"classifier\.weights must be .*m\.h5"):
        obtain(tmp_path / "m.json", digits, tmp_path / "other.h5")


@pytest.mark.parametrize("kind", every(2, ["sequential", "functional"]))
def test_logits_get_a_softmax(tmp_path, digits, kind):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((28, 28, 1))
    parts = [keras.layers.Flatten(), keras.layers.Dense(10, kernel_initializer="he_normal")]
    model = (
        keras.Sequential([inputs, *parts])
        if kind == "sequential"
        else keras.Model(inputs, parts[1](parts[0](inputs)))
    )
    model.save(tmp_path / "m.keras")
    found, _ = obtain(tmp_path / "m.keras", digits)
    given = UNIT.apply(digits.test_images)
    logits, outputs = (m.predict(given, verbose=0) for m in (model, found))
    assert outputs.sum(axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    np.testing.assert_allclose(outputs, keras.ops.softmax(logits), rtol=1e-4)
    found.save(tmp_path / "again.keras")
    again, _ = obtain(tmp_path / "again.keras", digits)
    assert len(again.layers) == len(found.layers)


@pytest.mark.slow
def test_the_importance_lane_runs_on_a_convolutional_network_of_keras_2(tmp_path, monkeypatch):
    digits = digits_of(300, 120)
    model = convolutional((28, 28, 1), 10)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(UNIT.apply(digits.train_images), digits.train_labels, epochs=8, verbose=0)
    path = write_keras_2(model, tmp_path / "m.json")
    chosen = [
        *("data.train=300", "data.test=120", "classifier=file", f"classifier.path={path}"),
        *(f"classifier.weights={path.with_suffix('.h5')}", "attack.names=[fgsm]"),
        *("attack.inputs=8", "importance.layer=-3", "importance.neurons=[4]"),
    ]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", chosen))
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("train_classifier", "attack", "measure_importance"):
        subprocess.run([sys.executable, ROOT / "stages", name], check=True)
    assert read_json(Path("metrics/train_classifier.json"))["test_accuracy"] > 0.5
    metrics = read_json(Path("metrics/measure_importance.json"))
    assert 0 < metrics["test_set"]["idc_4"] <= 1
    assert metrics["augmentations"]["fgsm"]["idc_4"]["value"] >= metrics["test_set"]["idc_4"]


def odd_model(kind):
    """A file that Keras reads, and that is no classifier of digits."""
    L = keras.layers
    image, outputs = keras.Input((28, 28, 1)), L.Dense(10, "softmax")
    match kind:
        case "two_inputs":
            size = keras.Input((3,))
            return keras.Model(
                [image, size], L.Add()([outputs(L.Flatten()(image)), L.Dense(10)(size)])
            )
        case "two_outputs":
            return keras.Model(image, [outputs(L.Flatten()(image)), L.Dense(2)(L.Flatten()(image))])
        case "a_map":
            return keras.Model(image, outputs(L.Conv2D(4, 3)(image)))
        case "any_size":
            free = keras.Input((None, None, 1))
            return keras.Model(free, outputs(L.GlobalAveragePooling2D()(free)))
        case "channels_first":
            first = keras.Input((1, 28, 28))
            return keras.Model(first, outputs(L.Flatten()(first)))
        case "other_images":
            return keras.Sequential([keras.Input((32, 32, 3)), L.Flatten(), outputs])
        case "one_score":
            return keras.Sequential([image, L.Flatten(), L.Dense(1, "sigmoid")])


@pytest.mark.parametrize(
    ("kind", "message", "as_a_pair"),
    [
        ("other_images", r"takes inputs of shape \(32, 32, 3\)", False),
        ("one_score", r"m\.keras .*1 output.* 10 classes", False),
        *every(
            3,
            [
                ("two_inputs", "a(n image)? classifier (takes|has one)", True),
                ("two_outputs", r"a classifier gives \(batch, classes\)", True),
                ("a_map", r"outputs of shape \[None, 26, 26, 10\]; a classifier gives", True),
                ("any_size", "only the batch may have a free size", True),
                ("channels_first", r"\(1, 28, 28\), but the images are \(28, 28, 1\)", False),
            ],
        ),
    ],
)
def test_what_is_no_classifier_of_these_images_is_one_line(
    tmp_path, digits, kind, message, as_a_pair
):
    path = tmp_path / "m.keras"
    odd_model(kind).save(path)
    with pytest.raises(UserError, match=message):
        obtain(path, digits)
    if as_a_pair:
        with pytest.raises(UserError, match=message):
            FileClassifier(path, UNIT)


def standardising(activation):
    """A classifier that divides each image by its deviation: NaN for those of one grey level."""
    keras.utils.set_random_seed(0)
    ops, image = keras.ops, keras.Input((28, 28, 1))
    centred = image - ops.mean(image, axis=(1, 2, 3), keepdims=True)
    scaled = centred / ops.std(image, axis=(1, 2, 3), keepdims=True)
    return keras.Model(image, keras.layers.Dense(10, activation)(keras.layers.Flatten()(scaled)))


@pytest.mark.parametrize(("activation", "logits"), every(2, [("softmax", False), ("linear", True)]))
def test_images_that_a_classifier_fails_on_do_not_decide_what_it_gives(
    tmp_path, digits, activation, logits
):
    path = tmp_path / "m.keras"
    model = standardising(activation)
    model.save(path)
    found, _ = obtain(path, digits)
    assert len(found.layers) == len(model.layers) + logits
    pair = FileClassifier(path, UNIT)
    assert pair.logits == logits
    black = np.zeros((1, 28, 28, 1), np.uint8)
    given = np.concatenate([digits.test_images[:3], black])
    probabilities = pair.predict(given)
    assert np.isnan(probabilities[3]).all()
    assert probabilities[:3].sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert found.predict(UNIT.apply(given), verbose=0) == pytest.approx(
        probabilities, abs=1e-5, nan_ok=True
    )


def test_nan_for_every_image_is_rejected(tmp_path, digits):
    model = small()
    model.set_weights([np.full_like(values, np.nan) for values in model.get_weights()])
    model.save(tmp_path / "m.keras")
    for take in (lambda path: obtain(path, digits), lambda path: FileClassifier(path, UNIT)):
        with pytest.raises(UserError, match=r"NaN .*every kind"):
            take(tmp_path / "m.keras")


FILE = Path("m.onnx")


@pytest.mark.parametrize(
    ("shape", "image"),
    [
        ((None, 4, 5, 3), (4, 5, 3)),
        ((None, 4, 5, 1), (4, 5, 1)),
        ((None, 3, 4, 5), (4, 5, 3)),
        ((7, 1, 4, 5), (4, 5, 1)),
        ((1, 3, 4, 3), (3, 4, 3)),
    ],
)
def test_a_model_s_input_tells_the_shape_of_its_images(shape, image):
    assert image_shape(shape, FILE) == image


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((None, 10), "an image classifier takes"),
        ((None, 4, 5), "an image classifier takes"),
        ((None, 4, None, 3), "only the batch may have a free size"),
        ((None, 4, 5, 2), "no axis of 1 or 3 channels"),
    ],
)
def test_what_is_no_image_is_told(shape, message):
    with pytest.raises(UserError, match=rf"m\.onnx .*shape.*{message}"):
        image_shape(shape, FILE)


def test_a_classifier_gives_one_vector():
    assert require_vector((None, 7), FILE) == require_vector((0, 7), FILE) == 7
    for shape in ((7,), (None, 7, 1), (None, None), (None, 0)):
        with pytest.raises(UserError, match="a classifier gives"):
            require_vector(shape, FILE)
