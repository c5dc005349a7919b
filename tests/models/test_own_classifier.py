"""classifier=file: the user's own Keras classifier in every supported form."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras_2_files import convolutional, write_keras_2

from asterism.config import compose
from asterism.core.artifacts import read_json
from asterism.core.errors import UserError
from asterism.data import DataParams, load
from asterism.models.image_classifier import obtain_classifier
from asterism.models.params import ClassifierFile
from asterism.models.preprocessing import PreprocessingParams
from places import ROOT

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])


@pytest.fixture(scope="module")
def digits():
    return load(DataParams(name="digits", path="conf/no_file", train=20, test=10))


def small(shape=(28, 28, 1)):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [keras.Input(shape), keras.layers.Flatten(), keras.layers.Dense(10, "softmax")]
    )


def obtain(path, digits, weights="conf/no_file"):
    params = ClassifierFile(source="file", path=str(path), weights=str(weights))
    return obtain_classifier(params, UNIT, digits, 0)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_a_model_of_one_file(tmp_path, digits, suffix):
    model = small()
    model.save(tmp_path / f"m{suffix}")
    found, history = obtain(tmp_path / f"m{suffix}", digits)
    np.testing.assert_allclose(found.get_weights()[0], model.get_weights()[0])
    assert history["loss"] == []


def test_a_model_of_two_files(tmp_path, digits):
    model = small()
    (tmp_path / "m.json").write_text(json.dumps(json.loads(model.to_json())))
    model.save(tmp_path / "m.h5")
    found, _ = obtain(tmp_path / "m.json", digits, tmp_path / "m.h5")
    np.testing.assert_allclose(found.get_weights()[0], model.get_weights()[0])
    with pytest.raises(UserError, match=r"classifier\.weights must be .*m\.h5"):
        obtain(tmp_path / "m.json", digits, tmp_path / "other.h5")


@pytest.mark.slow
def test_the_importance_lane_runs_on_a_convolutional_network_of_keras_2(tmp_path, monkeypatch):
    digits = load(DataParams(name="digits", path="conf/no_file", train=300, test=120))
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
    monkeypatch.chdir(tmp_path)
    for name in ("train_classifier", "attack", "measure_importance"):
        subprocess.run([sys.executable, ROOT / "stages", name], check=True)
    assert read_json(Path("metrics/train_classifier.json"))["test_accuracy"] > 0.5
    metrics = read_json(Path("metrics/measure_importance.json"))
    assert 0 < metrics["test_set"]["idc_4"] <= 1
    assert metrics["additions"]["fgsm"]["idc_4"]["value"] >= metrics["test_set"]["idc_4"]


def test_other_images_than_the_data_are_refused(tmp_path, digits):
    small((32, 32, 3)).save(tmp_path / "m.keras")
    with pytest.raises(UserError, match=r"takes inputs of shape \(32, 32, 3\)"):
        obtain(tmp_path / "m.keras", digits)


def test_a_score_for_each_class_is_needed(tmp_path, digits):
    layers = [keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(1, "sigmoid")]
    keras.Sequential(layers).save(tmp_path / "m.keras")
    with pytest.raises(UserError, match=r"m\.keras has 1 output, but the data have 10 classes"):
        obtain(tmp_path / "m.keras", digits)


def test_a_missing_file_is_one_line(tmp_path, digits):
    with pytest.raises(UserError, match="there is no model file"):
        obtain(tmp_path / "none.keras", digits)
