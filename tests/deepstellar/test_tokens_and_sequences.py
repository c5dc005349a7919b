"""Token ids and sequences of numbers through the stages of the lane, with networks from files."""

import subprocess
import sys

import cv2
import keras
import numpy as np
import onnx
import polars as pl
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper
from scipy.io import wavfile

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load, load_any
from asterism.deepstellar.campaigns.mutants import Lineages, MutantMaker
from asterism.deepstellar.parameters.params import FuzzParams
from asterism.models.recurrent import open_rnn
from places import ROOT

L = keras.layers
WORDS, STEPS = 30, 12
STAGES = (
    *("train_rnn", "profile_states", "build_dtmc", "select_seeds", "fuzz@state"),
    *("measure_coverage", "attack_rnn"),
)


def texts(count, seed):
    """Token ids, padded with 0; the class says whether more are from the upper half of the ids."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    upper = rng.random((count, STEPS)) < np.where(labels, 0.8, 0.2)[:, None]
    ids = rng.integers(1, 15, (count, STEPS)) + 15 * upper
    lengths = rng.integers(6, STEPS + 1, (count, 1))
    return np.where(np.arange(STEPS) < lengths, ids, 0), labels


def sequences(count, seed):
    """Two features over 12 steps, of which one rises or falls."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    slope = np.where(labels, 1.0, -1.0)[:, None] * np.linspace(-1, 1, STEPS)
    return np.stack([slope, 0 * slope], 2) + rng.normal(0, 0.4, (count, STEPS, 2)), labels


MAKERS = {"tokens": texts, "tensors": sequences}


def npz(path, kind, train=300, test=150):
    arrays = {}
    for number, (part, count) in enumerate((("train", train), ("test", test))):
        arrays[f"{part}_inputs"], arrays[f"{part}_labels"] = MAKERS[kind](count, number)
    np.savez(path, **arrays)
    return arrays


def trained(path, kind, arrays, masks=False):
    """A small network that is trained on the arrays, in a file."""
    keras.utils.set_random_seed(0)
    first = L.Embedding(WORDS, 6, mask_zero=masks) if kind == "tokens" else L.LayerNormalization()
    given = keras.Input(arrays["train_inputs"].shape[1:])
    model = keras.Sequential([given, first, L.LSTM(10), L.Dense(2, "softmax")])
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
    model.fit(arrays["train_inputs"], arrays["train_labels"], epochs=6, verbose=0)
    model.save(path)
    return model


def params(path, name="npz"):
    return DataParams(name=name, path=str(path), train=None, test=None)


@pytest.mark.parametrize("kind", MAKERS)
def test_an_archive_tells_what_its_inputs_are(tmp_path, kind):
    arrays = npz(tmp_path / "own.npz", kind)
    data = load_any(params(tmp_path / "own.npz"))
    assert data.kind == kind
    assert data.train_images.dtype == (np.float32 if kind == "tensors" else np.int64)
    np.testing.assert_allclose(data.test_images, arrays["test_inputs"], rtol=1e-6)
    assert data.classes == 2
    with pytest.raises(UserError, match=f"holds {kind}, and this stage works on images only"):
        load(params(tmp_path / "own.npz"))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((4, 3, 2), np.int64), r"integers \(N, T\), or real numbers"),
        (np.zeros(4), "train_inputs must be token ids"),
        (np.full((4, 3), np.nan), "hold NaN or infinity"),
        (np.zeros((4, 3), np.int64), "must agree"),
    ],
)
def test_inputs_that_are_none_are_one_line(tmp_path, inputs, message):
    labels = np.array([0, 1, 0, 1])
    good = {"test_inputs": np.zeros((4, 2)), "test_labels": labels, "train_labels": labels}
    np.savez(tmp_path / "own.npz", train_inputs=inputs, **good)
    with pytest.raises(UserError, match=message) as error:
        load_any(params(tmp_path / "own.npz"))
    assert "\n" not in str(error.value)


def written(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return params(folder, "folder")


def test_a_folder_of_texts_is_bytes_of_one_length(tmp_path):
    texts_ = {"train/no/a.txt": b"never", "train/yes/b.txt": b"ok", "train/yes/c.txt": b"fine"}
    data = load_any(written(tmp_path, texts_ | {"test/yes/d.txt": b"certainly"}))
    assert data.kind == "bytes"
    assert data.train_images.tolist()[1] == [*b"ok", 0, 0, 0]
    assert data.test_images.tolist() == [[*b"certa"]]
    assert data.train_labels.tolist() == [0, 1, 1]
    assert data.test_labels.tolist() == [1]


def test_a_folder_of_sounds_is_sequences_as_long_as_the_longest_for_training(tmp_path):
    lengths = {"train/low/0.wav": 80, "train/high/0.wav": 120, "test/high/1.wav": 200}
    for number, (name, length) in enumerate(lengths.items()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        wavfile.write(tmp_path / name, 8000, np.full(length, 8192 * (number + 1), np.int16))
    data = load_any(params(tmp_path, "folder"))
    assert data.kind == "sound"
    assert data.train_images.shape == (2, 120)
    assert data.train_images.dtype == np.float32
    assert data.test_images.shape == (1, 120)
    assert data.test_images[0, 119] == pytest.approx(0.75)
    assert data.train_labels.tolist() == [0, 1]  # high, low
    assert data.test_labels.tolist() == [0]


def test_a_folder_of_pictures_is_images(tmp_path):
    for number, name in enumerate(("train/0/a.png", "train/1/b.png", "test/1/c.png")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(tmp_path / name), np.full((8, 9, 3), 50 * number, np.uint8))
    data = load(params(tmp_path, "folder"))
    assert data.train_images.shape == (2, 8, 9, 3)
    assert data.test_images.shape == (1, 8, 9, 3)
    assert data.train_labels.tolist() == [0, 1]
    assert data.test_labels.tolist() == [1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train/a/x.txt": b"x"}, "names no folder with train and test"),
        ({"train/a/x.txt": b"x", "test/a/x.txt": b"x"}, "one class only"),
        (
            {"train/a/x.txt": b"x", "train/b/y.txt": b"y", "test/c/z.txt": b"z"},
            "test has the class 'c', and train has not",
        ),
        ({"train/x.txt": b"x", "train/b/y.txt": b"y", "test/b/z.txt": b"z"}, "outside of its"),
    ],
)
def test_a_folder_of_another_form_is_one_line(tmp_path, files, message):
    with pytest.raises(UserError, match=message):
        load_any(written(tmp_path, files))


@pytest.mark.parametrize(
    "masks",
    [pytest.param(False, id="graph"), pytest.param(True, id="keras", marks=pytest.mark.slow)],
)
def test_token_ids_give_the_states_that_keras_gives(tmp_path, masks):
    """Without a mask the layers are written as an ONNX graph; with one Keras runs them."""
    arrays = npz(tmp_path / "own.npz", "tokens")
    model = trained(tmp_path / "net.keras", "tokens", arrays, masks)
    network = open_rnn(tmp_path / "net.keras", None)
    probabilities, states = network.run(arrays["test_inputs"])
    every = L.LSTM(10, return_sequences=True)
    embedded = model.layers[0](arrays["test_inputs"])
    every.build(embedded.shape)
    every.set_weights(model.layers[1].get_weights())
    mask = arrays["test_inputs"] != 0 if masks else None
    np.testing.assert_allclose(states, every(embedded, mask=mask), atol=1e-5)
    expected = model.predict(arrays["test_inputs"], verbose=0)
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    alone, _ = network.run(arrays["test_inputs"][7:8])
    assert np.array_equal(alone[0], probabilities[7])
    with pytest.raises(UserError, match="the inputs are images"):
        network.run(np.zeros((2, 12, 1, 1), np.uint8))
    with pytest.raises(UserError, match="12 steps with one number"):
        network.run(arrays["test_inputs"][:, :5])


def text_lstm(path, elements=TensorProto.INT64):
    """An ONNX file with an embedding and an LSTM, of fixed weights."""
    rng = np.random.default_rng(0)
    weights = {
        "table": rng.normal(0, 1, (WORDS, 5)),
        "w": rng.normal(0, 0.5, (1, 16, 5)),
        "r": rng.normal(0, 0.5, (1, 16, 4)),
        "dense": rng.normal(0, 1, (4, 2)),
    }
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["embedded"]),
        helper.make_node("Transpose", ["embedded"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["steps", "w", "r"], ["", "last"], name="lstm", hidden_size=4),
        helper.make_node("Squeeze", ["last", "zero"], ["state"]),
        helper.make_node("MatMul", ["state", "dense"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"]),
    ]
    constants = [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()]
    constants.append(numpy_helper.from_array(np.array([0]), "zero"))
    graph = helper.make_graph(
        nodes,
        "text",
        [helper.make_tensor_value_info("ids", elements, ["n", STEPS])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 2])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


def test_an_onnx_file_takes_token_ids(tmp_path):
    text_lstm(tmp_path / "net.onnx")
    network = open_rnn(tmp_path / "net.onnx", "lstm")
    ids, _ = texts(70, 0)
    probabilities, states = network.run(ids)
    assert probabilities.shape == (70, 2)
    assert states.shape == (70, STEPS, 4)
    with pytest.raises(UserError, match=r"indices|out of"):
        network.run(ids + WORDS)
    with pytest.raises(UserError, match="but the inputs are float32"):
        network.run(ids.astype(np.float32))


def test_vectors_are_not_made_of_token_ids(tmp_path):
    arrays = npz(tmp_path / "own.npz", "tensors")
    trained(tmp_path / "net.keras", "tensors", arrays)
    network = open_rnn(tmp_path / "net.keras", None)
    assert network.run(arrays["test_inputs"])[1].shape == (150, STEPS, 10)
    with pytest.raises(UserError, match="takes vectors, but the inputs are token ids"):
        network.run(texts(3, 0)[0])


@pytest.mark.parametrize("kind", MAKERS)
def test_mutants_stay_close_to_their_seeds(kind):
    settings = FuzzParams.model_validate(
        yaml.safe_load(compose(ROOT / "conf", [f"fuzz={kind}"]))["fuzz"]
    )
    seeds = MAKERS[kind](60, 3)[0]
    seeds = seeds.astype(np.float32) if kind == "tensors" else seeds
    maker = MutantMaker.configured(settings, seeds)
    offspring = Lineages(seeds, seeds, np.zeros(len(seeds), np.bool_))
    made = set()
    for generation in range(6):
        mutants = maker.make(offspring, np.random.default_rng(generation))
        offspring = mutants.lineages
        if not len(offspring):
            break  # all are as far from their seeds as they may be
        made |= {maker.names[number] for number in mutants.mutators.tolist()}
        assert offspring.images.dtype == seeds.dtype
        if kind == "tokens":
            assert offspring.images.max() <= seeds.max()
            for row, seed in zip(offspring.images, offspring.references, strict=True):
                one, other = (list(r[: np.flatnonzero(r)[-1] + 1]) for r in (row, seed))
                assert slow_edits(one, other) <= 0.2 * len(other)
        else:
            width = np.ptp(seeds.reshape(-1, 2), axis=0)
            change = np.abs(offspring.images - offspring.references) / width
            near = change.reshape(len(change), -1).max(1) <= 0.15 + 1e-6
            assert (near | ((change > 0).mean((1, 2)) <= 0.1)).all()
    assert len(made) >= 2


def slow_edits(first, second):
    if not first or not second:
        return len(first) + len(second)
    if first[0] == second[0]:
        return slow_edits(first[1:], second[1:])
    above = list(range(len(second) + 1))
    for row, one in enumerate(first, 1):
        current = [row]
        for column, other in enumerate(second, 1):
            diagonal = above[column - 1] + (one != other)
            current.append(min(diagonal, above[column] + 1, current[-1] + 1))
        above = current
    return above[-1]


def test_mutators_of_another_kind_are_one_line():
    document = yaml.safe_load(compose(ROOT / "conf", []))["fuzz"]
    with pytest.raises(UserError, match="the seeds are tokens: choose fuzz=tokens"):
        MutantMaker.configured(FuzzParams.model_validate(document), texts(5, 0)[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_the_stages_measure_and_detect(tmp_path, monkeypatch, kind):
    arrays = npz(tmp_path / "own.npz", kind)
    trained(tmp_path / "net.keras", kind, arrays)
    tiny = [
        *("data=npz", f"data.path={tmp_path / 'own.npz'}", f"fuzz={kind}"),
        *("rnn=file", f"rnn.path={tmp_path / 'net.keras'}", "fuzz.criteria=[state]"),
        *("fuzz.mutants=3000", "fuzz.parents=20", "seeds.per_class=5", "coverage.references=10"),
    ]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", tiny))
    (tmp_path / "dvc.yaml").symlink_to(ROOT / "dvc.yaml")  # by which saved state is named
    for folder in ("src", "stages"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    for name in STAGES:
        stage, _, variant = name.partition("@")
        command = [sys.executable, ROOT / "stages", stage, *([variant] if variant else [])]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "attacks change the pixels of images: not attacked" in done.stdout + done.stderr
    assert read_json(tmp_path / "metrics/train_rnn.json")["test_accuracy"] > 0.85
    assert read_json(tmp_path / "metrics/build_dtmc.json")["states"] > 10
    seeds = read_arrays(tmp_path / "artifacts/select_seeds/seeds.npz")["images"]
    queue = read_arrays(tmp_path / "artifacts/fuzz/state/queue.npz")["images"]
    assert queue.dtype == seeds.dtype
    assert len(queue) > len(seeds)
    measured = read_json(tmp_path / "metrics/measure_coverage.json")
    assert measured["state_queue"]["basic_state"] > measured["seeds"]["basic_state"]
    crashes = pl.read_csv(tmp_path / "artifacts/fuzz/state/crashes.csv")
    assert len(crashes) > 0
    assert measured["state_crashes"]["state_similarity_auroc"] > 0.5
    report = [sys.executable, ROOT / "stages", "report"]
    done = subprocess.run(report, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "Telling crashes by their traces" in page
    assert "Crashes beside their seeds" not in page
