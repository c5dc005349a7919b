import json
import subprocess
import sys

import h5py
import keras
import numpy as np
import pytest
from keras_2_files import convolutional, keras_2_config, write_keras_2, write_weights

from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load
from asterism.models.keras_models.configurations import require_plain_config
from asterism.models.keras_models.reading import load_keras, save_keras
from thinning import every

BUILD = """
import sys
sys.path.insert(0, "src")
import keras
from pathlib import Path
from asterism.models.keras_models.reading import save_keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((4, 3)), keras.layers.GRU(5), keras.layers.Dense(2)])
save_keras(model, Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_equal_models_give_equal_bytes_in_two_processes(tmp_path):
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-c", BUILD, tmp_path / f"{name}.keras"], check=True)
    assert (tmp_path / "a.keras").read_bytes() == (tmp_path / "b.keras").read_bytes()


@pytest.fixture(scope="module")
def model():
    layers = [keras.Input((4, 3)), keras.layers.LSTM(5), keras.layers.Dense(2, "softmax")]
    return keras.Sequential(layers)


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_round_trip(tmp_path, model, suffix):
    path = tmp_path / f"model.{suffix}"
    if suffix == "keras":
        save_keras(model, path)
    else:
        model.save(path)
    inputs = np.random.default_rng(0).normal(size=(6, 4, 3)).astype(np.float32)
    assert np.array_equal(load_keras(path)(inputs), model(inputs))


def test_keras_2_json_and_weights(tmp_path, model):
    old = {
        "class_name": "Sequential",
        "config": [
            {
                "class_name": "LSTM",
                "config": {
                    "name": "lstm",
                    "batch_input_shape": [None, 4, 3],
                    "units": 5,
                    "implementation": 2,
                    "time_major": False,
                },
            },
            {
                "class_name": "Dense",
                "config": {"name": "dense", "units": 2, "activation": "softmax"},
            },
        ],
    }
    (tmp_path / "model.json").write_text(json.dumps(old))
    with pytest.raises(UserError, match=r"the weights .* are missing"):
        load_keras(tmp_path / "model.json")
    write_weights(model, tmp_path / "model.h5")
    inputs = np.ones((2, 4, 3), np.float32)
    assert np.allclose(load_keras(tmp_path / "model.json")(inputs), model(inputs))


@pytest.mark.parametrize("form", every(3, ["json", "json beside a whole model", "h5"]))
def test_the_convolutions_of_keras_2(tmp_path, form):
    model = convolutional()
    if form.startswith("json"):
        path = write_keras_2(model, tmp_path / "model.json")
        if form != "json":
            model.save(path.with_suffix(".h5"))
    else:
        path = tmp_path / "model.h5"
        model.save(path)
        with h5py.File(path, "r+") as file:
            file.attrs["model_config"] = json.dumps(keras_2_config(model))
            file.attrs["keras_version"] = "2.11.0"
    loaded = load_keras(path)
    inputs = np.random.default_rng(0).random((3, *model.input_shape[1:]), np.float32)
    np.testing.assert_allclose(loaded(inputs), model(inputs), rtol=1e-5, atol=1e-6)


def test_the_hard_sigmoid_of_keras_2_stays_what_it_was(tmp_path):
    """Against the LSTM's equations in plain NumPy; Keras 3's hard sigmoid is another function."""
    layers = [keras.Input((4, 3)), keras.layers.LSTM(5, recurrent_activation="hard_sigmoid")]
    model = keras.Sequential(layers)
    path = tmp_path / "old.h5"
    model.save(path)
    with h5py.File(path, "r+") as file:
        file.attrs["keras_version"] = "2.2.4"
    inputs = np.random.default_rng(0).normal(size=(6, 4, 3)).astype(np.float32) * 3

    def hard_sigmoid(x):
        return np.clip(0.2 * x + 0.5, 0, 1)

    kernel, recurrent, bias = (w.astype(np.float64) for w in model.get_weights())
    h = c = np.zeros((6, 5))
    for step in range(4):
        i, f, g, o = np.split(inputs[:, step] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = hard_sigmoid(f) * c + hard_sigmoid(i) * np.tanh(g)
        h = hard_sigmoid(o) * np.tanh(c)
    loaded = load_keras(path)
    assert np.allclose(loaded(inputs), h, atol=1e-5)
    assert not np.allclose(model(inputs), h, atol=1e-3)
    save_keras(loaded, tmp_path / "new.keras")
    assert np.allclose(load_keras(tmp_path / "new.keras")(inputs), h, atol=1e-5)


def test_a_published_keras_2_file(shared_models, shared_data):
    network = load_keras(shared_models / "mnist-lstm.h5")
    data = load(DataParams(name="mnist", path="conf/no_file", train=1, test=None))
    rows = data.test_images[..., 0].astype(np.float32) / 255
    predicted = network.predict(rows, batch_size=1000, verbose=0).argmax(axis=1)
    assert (predicted == data.test_labels).mean() == pytest.approx(0.9825, abs=2e-4)


def test_a_weights_file_alone(tmp_path):
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        file["x"] = np.zeros(3)
    with pytest.raises(UserError, match="holds weights only"):
        load_keras(tmp_path / "weights.h5")


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_code_in_a_file_is_never_run(tmp_path, suffix):
    marker = tmp_path / "executed"
    source = f"lambda x: (open({str(marker)!r}, 'w'), x)[1]"
    model = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(eval(source))])
    marker.unlink(missing_ok=True)
    model.save(tmp_path / f"evil.{suffix}")
    with pytest.raises(UserError, match=r"evil\.\w+ .*Lambda layer"):
        load_keras(tmp_path / f"evil.{suffix}")
    assert not marker.exists()


@pytest.fixture
def of_ones_own():
    """Layers, and an activation, that only their author has."""

    class Squash(keras.layers.Layer):
        def call(self, inputs):
            return inputs / (1 + keras.ops.abs(inputs))

    def squash(inputs):
        return inputs / (1 + keras.ops.abs(inputs))

    return {
        "Squash": lambda: Squash(name="odd"),
        "acme>Squash": lambda: keras.saving.register_keras_serializable("acme")(Squash)(),
        "TimeDistributed": lambda: keras.layers.TimeDistributed(Squash(name="odd")),
        "squash": lambda: keras.layers.Dense(2, activation=squash),
    }


@pytest.mark.parametrize("suffix", every(3, ["keras", "h5", "json"]))
@pytest.mark.parametrize("what", ["Squash", "acme>Squash", "TimeDistributed", "squash"])
def test_a_file_that_needs_code_of_its_authors_says_which(of_ones_own, what, suffix, tmp_path):
    model = keras.Sequential([keras.Input((4, 3)), of_ones_own[what]()])
    path = tmp_path / f"own.{suffix}"
    if suffix == "json":
        path.write_text(model.to_json())
        model.save_weights(tmp_path / "own.weights.h5")
        (tmp_path / "own.weights.h5").rename(tmp_path / "own.h5")
    else:
        model.save(path)
    keras.saving.get_custom_objects().pop("acme>Squash", None)
    with pytest.raises(UserError) as rejected:
        load_keras(path)
    said, told = str(rejected.value), "squash" if what == "squash" else "Squash"
    assert said.startswith(f"{path} needs {told},") and "format='onnx'" in said


def test_a_configuration_has_at_most_ten_thousand_layers(tmp_path):
    layer = {"class_name": "Dense", "config": {"units": 2}}
    model = {"class_name": "Sequential", "config": {"layers": [layer] * 9_999}}
    require_plain_config(model, tmp_path / "m.keras")
    model["config"]["layers"].append(layer)
    with pytest.raises(UserError, match=r"m\.keras .*10,000 layers"):
        require_plain_config(model, tmp_path / "m.keras")
