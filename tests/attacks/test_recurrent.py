"""Attacks through time on a recurrent network, as train_rnn leaves one."""

import subprocess
import sys
from dataclasses import replace

import keras
import numpy as np
import pytest
from structlog.testing import capture_logs
from test_attacks import params

from asterism.attacks.methods import as_pixels
from asterism.attacks.recurrent import attack_recurrent
from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json, write_json
from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load
from asterism.models.recurrent import open_rnn
from asterism.models.recurrent.trained import save_trained
from asterism.models.training.recurrent import rows_as_steps
from places import ROOT

L = keras.layers


def train(folder, sequences, labels, epochs):
    """Leave a network in a folder that has learnt the sequences."""
    keras.utils.set_random_seed(0)
    given = keras.Input(sequences.shape[1:])
    model = keras.Sequential([given, L.SimpleRNN(16), L.Dense(10, "softmax")])
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
    model.fit(sequences, labels, epochs=epochs, verbose=0)
    save_trained(model, folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    data = load(DataParams(name="digits", path="conf/no_file", train=500, test=60))
    folder = tmp_path_factory.mktemp("rnn")
    train(folder, rows_as_steps(data.train_images), data.train_labels, 5)
    return folder, data


def test_attacks_reach_through_time(trained):
    folder, data = trained
    wanted = params(names=["fgsm", "bim", "jsma"])
    found = attack_recurrent(folder, data, wanted, 0)
    assert list(found) == ["fgsm", "bim", "noise", "noise_of_bim"]
    for attacked in found.values():
        assert attacked.images.shape == (20, 28, 28, 1)
        assert attacked.images.dtype == np.uint8
    assert found["bim"].success.mean() > found["noise"].success.mean()
    assert found["fgsm"].success.mean() > found["noise"].success.mean()
    np.testing.assert_allclose(found["noise"].l2, found["fgsm"].l2, rtol=0.02)
    np.testing.assert_allclose(found["noise_of_bim"].l2, found["bim"].l2, rtol=0.02)
    assert (found["noise_of_bim"].l2 < found["noise"].l2).all()
    for attacked in found.values():
        originals = as_pixels(data.test_images[attacked.sources])
        change = np.abs(as_pixels(attacked.images) - originals).reshape(20, -1)
        np.testing.assert_allclose(attacked.linf, change.max(axis=1), rtol=1e-6)
        np.testing.assert_array_equal(attacked.labels, data.test_labels[attacked.sources])
        assert attacked.summary()["linf_mean"] == attacked.linf.mean()
    assert found["fgsm"].linf.max() <= 0.3 + 1 / 255
    # The stateful lane's own backend through the network is fooled by the same images.
    probabilities, _ = open_rnn(folder / "model.keras", None).run(found["bim"].images)
    assert (probabilities.argmax(axis=1) != found["bim"].labels).mean() == pytest.approx(
        found["bim"].success.mean(), abs=0.05
    )


@pytest.mark.parametrize(
    ("names", "through_time"),
    [(["bim"], ["bim"]), (["jsma", "bim", "fgsm"], ["bim", "fgsm"]), (["noise", "jsma"], [])],
)
def test_the_chosen_attacks_that_work_through_time_are_run(trained, names, through_time):
    folder, data = trained
    with capture_logs() as told:
        found = attack_recurrent(folder, data, params(names=names, rnn_inputs=4), 0)
    controls = ["noise", *(f"noise_of_{name}" for name in through_time[1:])]
    assert list(found) == ([*through_time, *controls] if through_time else [])
    left_out = [name for name in names if name not in through_time]
    lines = [line for line in told if "they do not work through time" in line["event"]]
    assert [line["attacks"] for line in lines] == ([left_out] if left_out else [])
    assert all(line["log_level"] == ("info" if through_time else "warning") for line in lines)
    for name, control in zip(through_time, controls, strict=False):
        np.testing.assert_allclose(found[control].l2, found[name].l2, rtol=0.02)


def test_steps_may_be_other_than_the_rows_of_an_image(tmp_path, trained):
    _, data = trained
    sequences = as_pixels(data.train_images[:300]).reshape(-1, 56, 14)
    train(tmp_path, sequences, data.train_labels[:300], 3)
    found = attack_recurrent(tmp_path, data, params(), 0)
    for attacked in found.values():
        assert attacked.images.shape[1:] == (28, 28, 1)
    assert found["bim"].success.mean() > found["noise"].success.mean()


@pytest.mark.slow
def test_the_stage_says_how_well_traces_give_attacks_away(tmp_path, monkeypatch):
    tiny = [
        *("data.train=300", "data.test=100", "rnn.units=[12]", "rnn.training.epochs=3"),
        *("coverage.references=5", "attack.rnn_inputs=15"),
    ]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", tiny))
    monkeypatch.chdir(tmp_path)
    for name in ("train_rnn", "profile_states", "build_dtmc", "attack_rnn"):
        subprocess.run([sys.executable, ROOT / "stages", name], check=True)
    metrics = read_json(tmp_path / "metrics/attack_rnn.json")
    inputs = read_arrays(tmp_path / "artifacts/attack_rnn/inputs.npz")
    assert set(metrics) == {"test", "fgsm", "bim", "noise", "noise_of_bim"}
    for name in ("fgsm", "bim", "noise", "noise_of_bim"):
        for items in ("state", "transition"):
            assert 0 <= metrics[name][f"{items}_similarity_auroc"] <= 1
        for fact, summary in (("success", "success"), ("l2", "l2_mean"), ("linf", "linf_mean")):
            assert inputs[f"{name}_{fact}"].mean() == pytest.approx(metrics[name][summary])
    assert metrics["fgsm"]["success"] >= metrics["noise"]["success"]


def test_a_network_that_gets_nothing_right_is_one_line(trained):
    folder, data = trained
    wrong = replace(data, test_labels=np.full_like(data.test_labels, 99))
    with pytest.raises(UserError, match="no test input"):
        attack_recurrent(folder, wrong, params(), 0)


def test_a_format_without_gradients_is_left_alone(tmp_path, trained):
    _, data = trained
    write_json(tmp_path / "rnn.json", {"file": "model.onnx", "layer": None})
    assert attack_recurrent(tmp_path, data, params(), 0) == {}


def test_inputs_that_are_no_images_are_left_alone(trained):
    folder, data = trained
    with capture_logs() as told:
        assert attack_recurrent(folder, replace(data, kind="tokens"), params(), 0) == {}
    assert [line["inputs"] for line in told] == ["tokens"]
