"""Token ids and sequences of numbers through the stages of the lane, with networks from files."""

import subprocess
import sys

import keras
import numpy as np
import polars as pl
import pytest
import yaml

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.messages.errors import UserError
from asterism.data import DataParams
from asterism.deepstellar.fuzzing.mutants import Lineages, MutantMaker
from asterism.deepstellar.params import FuzzParams
from asterism.models.recurrent import open_rnn
from onnx_texts import write_onnx
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


def text_lstm(path, elements="int64"):
    """An ONNX file with an embedding and an LSTM, of fixed weights."""
    rng = np.random.default_rng(0)
    weights = {
        "table": rng.normal(0, 1, (WORDS, 5)),
        "w": rng.normal(0, 0.5, (1, 16, 5)),
        "r": rng.normal(0, 0.5, (1, 16, 4)),
        "dense": rng.normal(0, 1, (4, 2)),
    }
    text = f"""({elements}[n,{STEPS}] ids) => (float[n,2] probabilities) {{
        embedded = Gather (table, ids)
        steps = Transpose <perm = [1, 0, 2]> (embedded)
        [lstm] every, last = LSTM <hidden_size = 4> (steps, w, r)
        state = Squeeze (last, zero)
        scores = MatMul (state, dense)
        probabilities = Softmax (scores)
    }}"""
    constants = {name: values.astype(np.float32) for name, values in weights.items()}
    write_onnx(path, text, **constants, zero=np.array([0]))


def test_an_onnx_file_takes_token_ids(tmp_path):
    text_lstm(tmp_path / "net.onnx")
    network = open_rnn(tmp_path / "net.onnx", "lstm")
    ids, _ = texts(70, 0)
    probabilities, states = network.run(ids)
    assert probabilities.shape == (70, 2)
    assert states.shape == (70, STEPS, 4)
    with pytest.raises(UserError, match=r"indices|out of"):
        network.run(ids + WORDS)
    with pytest.raises(UserError, match="inputs are float32"):
        network.run(ids.astype(np.float32))


def test_vectors_are_not_made_of_token_ids(tmp_path):
    arrays = npz(tmp_path / "own.npz", "tensors")
    trained(tmp_path / "net.keras", "tensors", arrays)
    network = open_rnn(tmp_path / "net.keras", None)
    assert network.run(arrays["test_inputs"])[1].shape == (150, STEPS, 10)
    with pytest.raises(UserError, match=r"vectors.* token ids"):
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
    with pytest.raises(UserError, match=r"tokens: .*fuzz=tokens"):
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
    assert "not attacked" in done.stdout + done.stderr
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
    assert "by their traces" in page
    assert "Crashes beside their seeds" not in page
