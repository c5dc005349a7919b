"""A recurrent network around an engine that computes by a formula, and what is stored of one."""

import threading
import time

import keras
import numpy as np
import pytest

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.models.images_and_scores import softmax
from asterism.models.recurrent import RecurrentModel
from asterism.models.recurrent.model import SequenceForm
from asterism.models.recurrent.onnx_engine import OnnxEngine
from asterism.models.recurrent.opening import engine_for
from asterism.models.recurrent.trained import open_trained, save_trained, trained_file


class Sums:
    """States are running sums of the steps; the outputs are made of the last state."""

    threads = True

    def __init__(self, steps=4, features=3, numbers=None, logits=False, batch=None):
        taken = {"steps": steps, "features": features, "batch": batch, "numbers": numbers}
        self.form = SequenceForm(layer="sums", **taken)
        self._logits = logits
        self.shapes = []

    def compute(self, sequences):
        self.shapes.append(sequences.shape)
        rows = sequences if sequences.ndim == 3 else sequences[..., np.newaxis]
        states = np.cumsum(rows, axis=1, dtype=np.float32)
        last = states[:, -1].sum(axis=1)
        outputs = np.stack([last, -last], axis=1) / 10
        return (outputs if self._logits else softmax(outputs)), states


def expected(sequences):
    states = np.cumsum(sequences, axis=1)
    score = states[:, -1].sum(axis=1) / 10
    first = 1 / (1 + np.exp(-2 * score))
    return np.stack([first, 1 - first], axis=1), states


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("way", ["run", "run_serially"])
@pytest.mark.parametrize("count", [0, 1, 8, 19])
def test_inputs_are_computed_in_full_blocks(way, count, logits):
    engine = Sums(logits=logits)
    model = RecurrentModel(engine, block=8)
    assert (model.classes, model.width, model.layer) == (2, 3, "sums")
    assert model.logits == logits
    items = np.random.default_rng(0).normal(size=(count, 4, 3)).astype(np.float32)
    engine.shapes.clear()
    probabilities, states = getattr(model, way)(items)
    assert engine.shapes == [(8, 4, 3)] * -(-count // 8)
    wanted = expected(items)
    assert probabilities == pytest.approx(wanted[0], abs=1e-5)
    assert states == pytest.approx(wanted[1], abs=1e-5)
    assert probabilities.dtype == states.dtype == np.float32
    assert states.shape == (count, 4, 3)


def test_images_are_scaled_and_other_numbers_are_not():
    model = RecurrentModel(Sums(), block=4)
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 3, 1), np.uint8)
    assert model.run(images)[1] == pytest.approx(
        expected(images.reshape(3, 4, 3) / 255)[1], abs=1e-5
    )
    rows = images.reshape(3, 4, 3).astype(np.float64)
    assert model.run(rows)[1] == pytest.approx(expected(rows)[1], rel=1e-5)


@pytest.mark.parametrize(
    ("numbers", "given", "message"),
    [
        (None, np.float32, None),
        (None, np.uint8, None),
        (None, np.int64, "takes vectors, but the inputs are token ids"),
        (None, np.uint16, "takes vectors, but the inputs are token ids"),
        ("int32", np.int64, None),
        ("int32", np.uint16, None),
        ("int32", np.uint8, r"single numbers \(int32\), but the inputs are images"),
        ("int32", np.float32, r"single numbers \(int32\), but the inputs are float32"),
        ("float32", np.float64, None),
        ("float32", np.int64, None),
        ("float32", np.uint8, r"single numbers \(float32\), but the inputs are images"),
    ],
)
def test_the_kind_of_numbers_has_to_be_the_networks(numbers, given, message):
    model = RecurrentModel(Sums(features=None if numbers else 3, numbers=numbers), block=2)
    items = np.arange(4 if numbers else 12).reshape(1, 4, -1).astype(given)
    items = items[..., 0] if numbers else items
    if message is None:
        assert model.run(items)[1].shape == (1, 4, 1 if numbers else 3)
        return
    with pytest.raises(UserError, match=message):
        model.run(items)


def test_an_input_becomes_steps_of_the_networks_width():
    free = RecurrentModel(Sums(steps=None, features=None), block=2)
    assert free.sequence_shape((5, 2, 3)) == (5, 6)
    assert free.steps((7, 1)) == 7
    wide = RecurrentModel(Sums(steps=None, features=3), block=2)
    assert wide.sequence_shape((4, 6)) == (8, 3)
    fixed = RecurrentModel(Sums(), block=2)
    assert fixed.sequence_shape((2, 6)) == (4, 3)
    message = "sequences of 4 steps with 3 inputs, but the {} are {}"
    with pytest.raises(UserError, match=message.format("inputs", "5×3: 5 steps with 3 inputs")):
        fixed.sequence_shape((5, 3))
    with pytest.raises(UserError, match=message.format("images", "5×3×1: 5 steps with 3 inputs")):
        fixed.sequence_shape((5, 3, 1))
    tokens = RecurrentModel(Sums(features=None, numbers="int64"), block=2)
    assert tokens.sequence_shape((4,)) == tokens.sequence_shape((4, 1)) == (4,)
    for shape in ((5,), (4, 2)):
        with pytest.raises(UserError, match="sequences of 4 steps with one number, but the inputs"):
            tokens.sequence_shape(shape)
    any_length = RecurrentModel(Sums(None, None, "int64"), block=2)
    assert any_length.sequence_shape((9,)) == (9,)
    with pytest.raises(UserError, match="any number of steps"):
        any_length.sequence_shape((9, 2))


class Wrong(Sums):
    """Gives other outputs or states than a classifier's."""

    def __init__(self, outputs=None, states=None):
        super().__init__()
        self._given = outputs, states

    def compute(self, sequences):
        outputs, states = super().compute(sequences)
        change_outputs, change_states = self._given
        outputs = outputs if change_outputs is None else change_outputs(outputs)
        return outputs, (states if change_states is None else change_states(states))


@pytest.mark.parametrize(
    ("outputs", "states", "message"),
    [
        (lambda o: o[:, :1], None, r"output is \(N, 1\): it must be \(N, K\)"),
        (lambda o: o[:, None], None, r"output is \(N, 1, 2\): it must be \(N, K\)"),
        (None, lambda s: s[:, -1], r"sums gives \(N, 3\), not a hidden state for each step"),
        (None, lambda s: s[:1], r"sums gives \(N, 4, 3\), not a hidden state for each step"),
        (lambda o: o * np.nan, None, "computes NaN or infinity on ordinary inputs"),
        (None, lambda s: s / 0, "computes NaN or infinity on ordinary inputs"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_engines_that_are_no_classifiers_are_told(outputs, states, message):
    with pytest.raises(UserError, match=message):
        RecurrentModel(Wrong(outputs, states))


def test_probabilities_rounded_to_a_few_bits_are_no_logits():
    """As quantised networks give them."""

    def rounded(outputs):
        outputs = np.concatenate([outputs * 2, outputs], axis=1) / 3
        outputs = np.rint(outputs * 127) / np.float32(127)
        assert np.abs(outputs.sum(axis=1) - 1).max() > 2e-3
        return outputs

    assert not RecurrentModel(Wrong(rounded)).logits


class Watched(Sums):
    """Notes how many calls of it run at a time."""

    def __init__(self, threads):
        super().__init__()
        self.threads = threads
        self._lock = threading.Lock()
        self._now = self.most = 0

    def compute(self, sequences):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
        return super().compute(sequences)


def test_an_engine_without_threads_is_called_once_at_a_time(monkeypatch):
    monkeypatch.setattr("asterism.core.settings.machine.available_threads", lambda: 4)
    alone, together = Watched(threads=False), Watched(threads=True)
    items = np.random.default_rng(0).normal(size=(16, 4, 3))
    models = [RecurrentModel(engine, block=2) for engine in (alone, together)]
    found = [model.run(items) for model in models]
    assert [model.workers for model in models] == [1, 4]
    assert alone.most == 1 < together.most
    assert RecurrentModel(Sums(batch=3)).block == 3
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


# ---- token ids and stored networks


def token_network(mask=False):
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(7, 3, mask_zero=mask),
            layers.SimpleRNN(2, return_sequences=True, name="cells"),
            layers.LSTM(2, name="last"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    rng = np.random.default_rng(0)
    network.set_weights([rng.normal(0, 0.5, w.shape) for w in network.get_weights()])
    return network


def test_an_embedding_looks_token_ids_up():
    network = token_network()
    engine = engine_for(network, "cells")
    assert isinstance(engine, OnnxEngine)
    assert (engine.form.numbers, engine.form.steps, engine.form.features) == ("int32", 5, None)
    tokens = np.random.default_rng(1).integers(0, 7, (9, 5))
    probabilities, states = RecurrentModel(engine, block=4).run(tokens)
    assert probabilities == pytest.approx(np.asarray(network(tokens)), abs=1e-5)
    table, kernel, recurrent, bias = network.get_weights()[:4]
    for row, found in zip(tokens, states, strict=True):
        state = np.zeros(2)
        for token, step in zip(row, found, strict=True):
            state = np.tanh(table[token] @ kernel + state @ recurrent + bias)
            assert step == pytest.approx(state, abs=1e-5)


def test_an_embedding_that_masks_runs_in_keras():
    engine = engine_for(token_network(mask=True), "last")
    assert not isinstance(engine, OnnxEngine)
    assert engine.form.layer == "last"


def test_a_stored_network_is_opened_by_its_graph_and_has_a_file(tmp_path):
    network = token_network()
    model = save_trained(network, tmp_path)
    assert trained_file(tmp_path) == tmp_path / "model.keras"
    assert keras.saving.load_model(trained_file(tmp_path)).count_params() == network.count_params()
    tokens = np.random.default_rng(1).integers(0, 7, (3, 5))
    (tmp_path / "model.keras").unlink()  # the graph is enough
    opened = open_trained(tmp_path)
    for one, other in zip(opened.run(tokens), model.run(tokens), strict=True):
        assert np.array_equal(one, other)
    assert opened.layer == "last"
    facts = {"layer": None, "graph": None}
    write_json(tmp_path / "rnn.json", facts | {"file": "model.onnx"})
    assert trained_file(tmp_path) == tmp_path / "model.onnx"
    write_json(tmp_path / "rnn.json", facts | {"file": "../other.h5"})
    with pytest.raises(UserError, match=r"rnn\.json"):
        trained_file(tmp_path)
