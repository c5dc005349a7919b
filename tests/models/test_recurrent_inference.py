"""Recurrent networks by the fast engine give what Keras itself gives, for every kind of layer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.keras_models.reading import save_keras
from asterism.models.recurrent import RecurrentModel, open_rnn
from asterism.models.recurrent.keras_engine import KerasEngine, find_layer, find_layer_chain
from asterism.models.recurrent.onnx_engine import OnnxEngine
from asterism.models.recurrent.onnx_graph import write_graph
from asterism.models.recurrent.opening import engine_for
from thinning import every

keras = pytest.importorskip("keras")
L = keras.layers


def images(count: int, shape: tuple[int, int, int] = (6, 5, 1), seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(count, *shape), dtype=np.uint8)


def with_random_weights(model: Any, seed: int = 0) -> Any:
    """Zero biases and unit gammas would hide a wrong place."""
    rng = np.random.default_rng(seed)
    model.set_weights(
        [np.abs(w) + 0.1 if "variance" in v.path else w
         for v, w in ((v, rng.normal(0, 0.5, v.shape)) for v in model.weights)]
    )  # fmt: skip
    return model


def sequential(*layers: Any, steps: int | None = 6, features: int = 5) -> Any:
    return with_random_weights(keras.Sequential([keras.Input((steps, features)), *layers]))


def keras_states(model: Any, upto: int, rebuilt: Any, x: NDArray[np.float32]) -> Any:
    """States of layer ``upto``, by a twin that returns every step, called eagerly on its input."""
    for layer in model.layers[:upto]:
        x = layer(x, training=False)
    rebuilt.build(x.shape)
    rebuilt.set_weights(model.layers[upto].get_weights())
    return np.asarray(rebuilt(x, training=False))


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("LSTM", {"use_bias": False}),
    ("LSTM", {"activation": "relu", "recurrent_activation": "hard_sigmoid"}),
    ("LSTM", {"activation": "elu", "recurrent_activation": "softsign"}),
    ("GRU", {}),
    ("GRU", {"reset_after": False}),
    ("GRU", {"use_bias": False, "reset_after": False}),
    ("GRU", {"use_bias": False}),
    ("GRU", {"activation": "linear", "recurrent_activation": "hard_sigmoid"}),
    ("SimpleRNN", {}),
    ("SimpleRNN", {"use_bias": False, "activation": "relu"}),
    ("SimpleRNN", {"activation": "softplus"}),
]


WRAPPINGS = [
    *itertools.product(OPTIONS, ["one", "concat"]),
    *itertools.product([("LSTM", {}), ("GRU", {})], ["sum", "mul", "ave"]),
]


@pytest.mark.parametrize("every_step", [True, False])
@pytest.mark.parametrize(("layer", "wrapping"), every(9, WRAPPINGS), ids=str)
def test_cells_in_one_and_both_directions(
    layer: tuple[str, dict[str, Any]], every_step: bool, wrapping: str
) -> None:
    cell, options = layer

    def make(sequences: bool, merge: str) -> Any:
        layer = getattr(L, cell)(4, return_sequences=sequences, **options)
        return layer if wrapping == "one" else L.Bidirectional(layer, merge_mode=merge)

    rest = [L.Flatten()] if every_step else []
    model = sequential(make(every_step, wrapping), *rest, L.Dense(3, activation="softmax"))
    engine = engine_for(model, None)
    assert isinstance(engine, OnnxEngine)
    rnn = RecurrentModel(engine, block=16)
    batch = images(40)
    probabilities, states = rnn.run(batch)
    x = (batch.reshape(40, 6, 5) / 255).astype(np.float32)
    expected = keras_states(model, 0, make(True, "concat"), x)
    np.testing.assert_allclose(probabilities, np.asarray(model(x)), atol=1e-5)
    np.testing.assert_allclose(states, expected, atol=1e-5, rtol=1e-5)


STACKS: dict[str, Callable[[], Sequence[Any]]] = {
    "two lstms": lambda: [L.LSTM(4, return_sequences=True), L.Dropout(0.5), L.LSTM(3)],
    "gru on lstm": lambda: [L.LSTM(4, return_sequences=True), L.GRU(3)],
    "dense first": lambda: [L.Dense(7, activation="tanh"), L.SimpleRNN(3)],
    "distributed": lambda: [L.TimeDistributed(L.Dense(4, activation="relu")), L.LSTM(3)],
    "normalised": lambda: [L.LSTM(4, return_sequences=True), L.LayerNormalization(), L.GRU(3)],
    "bidirectional first": lambda: [
        L.Bidirectional(L.GRU(4, return_sequences=True)),
        L.SpatialDropout1D(0.2),
        L.GaussianNoise(0.3),
        L.LSTM(3),
    ],
    "activation": lambda: [L.LSTM(4), L.Activation("sigmoid"), L.Dense(3, activation="elu")],
}


@pytest.mark.parametrize("name", every(2, list(STACKS)))
def test_stacks_of_layers(name: str) -> None:
    model = sequential(*STACKS[name](), L.Dense(3), L.Softmax())
    engine = engine_for(model, None)
    assert isinstance(engine, OnnxEngine)
    batch = images(10)
    probabilities, states = RecurrentModel(engine).run(batch)
    x = (batch.reshape(10, 6, 5) / 255).astype(np.float32)
    np.testing.assert_allclose(probabilities, np.asarray(model(x)), atol=1e-5)
    slow = RecurrentModel(KerasEngine(model, find_layer(model, None)))
    np.testing.assert_allclose(states, slow.run(batch)[1], atol=1e-5)


def test_every_layer_can_be_profiled_by_name() -> None:
    model = sequential(
        L.LSTM(4, return_sequences=True, name="first"),
        L.Dropout(0.1, name="idle"),
        L.GRU(3, name="second"),
        L.Dense(2, activation="softmax", name="out"),
    )
    widths = {"first": 4, "idle": 4, "second": 3}
    for name, width in widths.items():
        rnn = RecurrentModel(engine_for(model, name))
        assert (rnn.layer, rnn.width, rnn.classes) == (name, width, 2)
    with pytest.raises(UserError, match="did you mean 'second'"):
        engine_for(model, "secnd")
    with pytest.raises(UserError, match="hidden state"):
        RecurrentModel(engine_for(model, "out"))


def branching() -> Any:
    rows = keras.Input((6, 5))
    left, right = L.LSTM(4, name="left")(rows), L.GRU(3, name="right")(rows)
    return with_random_weights(
        keras.Model(rows, L.Dense(3, activation="softmax")(L.Concatenate()([left, right])))
    )


FOREIGN: dict[str, Callable[[], Any]] = {
    "branches": branching,
    "masking": lambda: sequential(L.Masking(), L.LSTM(4), L.Dense(3, activation="softmax")),
    "backwards": lambda: sequential(L.LSTM(4, go_backwards=True), L.Dense(3, "softmax")),
    "own activation": lambda: sequential(L.LSTM(4, activation="gelu"), L.Dense(3, "softmax")),
    "convolution": lambda: sequential(
        L.Conv1D(4, 2), L.Bidirectional(L.LSTM(3)), L.Dense(3, activation="softmax")
    ),
    "stacked cells": lambda: sequential(
        L.RNN([L.LSTMCell(4), L.LSTMCell(3)]), L.Dense(3, activation="softmax")
    ),
}


@pytest.mark.parametrize("name", every(2, list(FOREIGN)))
def test_what_onnx_cannot_express_runs_in_keras(name: str) -> None:
    model = FOREIGN[name]()
    engine = engine_for(model, None)
    assert isinstance(engine, KerasEngine)
    batch = images(20)
    probabilities, states = RecurrentModel(engine, block=8).run(batch)
    x = (batch.reshape(20, 6, 5) / 255).astype(np.float32)
    np.testing.assert_allclose(probabilities, np.asarray(model(x)), atol=1e-5)
    assert states.ndim == 3 and states.shape[0] == 20
    recurrent = find_layer(model, None)
    if not isinstance(recurrent, L.Bidirectional):
        last = keras.Model(model.inputs, recurrent.output)(x)
        np.testing.assert_allclose(states[:, -1], np.asarray(last), atol=1e-5)


def test_a_result_does_not_depend_on_the_images_beside_it() -> None:
    model = sequential(L.LSTM(128), L.Dense(10, activation="softmax"), steps=28, features=28)
    batch = images(300, (28, 28, 1))
    order = np.random.default_rng(1).permutation(300)
    rnn = RecurrentModel(engine_for(model, None))
    probabilities, states = rnn.run(batch)
    shuffled = rnn.run(batch[order])
    assert np.array_equal(shuffled[0], probabilities[order])
    assert np.array_equal(shuffled[1], states[order])
    for rows in (slice(0, 1), slice(7, 10), slice(250, 300)):
        alone = rnn.run(batch[rows])
        assert np.array_equal(alone[0], probabilities[rows])
        assert np.array_equal(alone[1], states[rows])


def test_colour_images_and_sequences_of_any_length() -> None:
    rnn = RecurrentModel(
        engine_for(sequential(L.LSTM(4), L.Dense(3, "softmax"), steps=None, features=12), None)
    )
    assert rnn.run(images(3, (8, 4, 3)))[1].shape == (3, 8, 4)
    assert rnn.run(images(3, (5, 4, 3)))[1].shape == (3, 5, 4)
    assert rnn.run(images(0, (5, 4, 3)))[1].shape == (0, 5, 4)
    with pytest.raises(UserError, match=r"7×5×1: 7 steps .*5 inputs"):
        rnn.run(images(3, (7, 5, 1)))


def test_networks_that_are_none() -> None:
    with pytest.raises(UserError, match="no recurrent layer"):
        engine_for(sequential(L.Flatten(), L.Dense(3)), None)
    with pytest.raises(UserError, match="at least 2 classes"):
        RecurrentModel(engine_for(sequential(L.LSTM(3), L.Dense(1, "sigmoid")), None))
    with pytest.raises(UserError, match=r"\(N, 6, 4\).* \(N, K\)"):
        RecurrentModel(engine_for(sequential(L.LSTM(3, return_sequences=True), L.Dense(4)), None))
    with pytest.raises(UserError, match="one sequence of vectors"):
        engine_for(with_random_weights(keras.Sequential(
            [keras.Input((6, 5, 2)), L.TimeDistributed(L.Flatten()), L.LSTM(3), L.Dense(2)]
        )), None)  # fmt: skip


def with_spoilt_weights(cell: str, place: int, value: float) -> Any:
    model = sequential(getattr(L, cell)(8), L.Dense(3, activation="softmax"))
    weights = model.get_weights()
    weights[place][0] = value
    model.set_weights(weights)
    return model


WEIGHTS = list(enumerate(["/kernel", "/recurrent", "/bias", "dense"]))


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize(("place", "name"), WEIGHTS)
@pytest.mark.parametrize("cell", ["LSTM", "GRU", "SimpleRNN"])
def test_weights_of_nan_are_rejected(cell: str, place: int, name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"weights .*{name}.* hold NaN or infinity"):
        engine_for(with_spoilt_weights(cell, place, value), None)


# Files.


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_keras_files(tmp_path: Path, suffix: str) -> None:
    model = sequential(L.LSTM(4), L.Dense(3, activation="softmax"))
    path = tmp_path / f"model{suffix}"
    save_keras(model, path) if suffix == ".keras" else model.save(path)
    probabilities, states = open_rnn(path, None).run(images(5))
    expected = RecurrentModel(engine_for(model, None)).run(images(5))
    np.testing.assert_allclose(probabilities, expected[0], atol=1e-7)
    np.testing.assert_allclose(states, expected[1], atol=1e-7)


def torch_file(path: Path, dynamic: bool, bidirectional: bool) -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.rnn = torch.nn.GRU(5, 4, batch_first=True, bidirectional=bidirectional)
            self.out = torch.nn.Linear(4 * (1 + bidirectional), 3)

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.out(self.rnn(x)[0][:, -1]), dim=1)

    torch.manual_seed(0)
    net = Net().eval()
    axes = {"rows": {0: "n"}} if dynamic else None
    example = (torch.zeros(2, 6, 5),)
    torch.onnx.export(net, example, path, dynamo=False, input_names=["rows"], dynamic_axes=axes)
    x = torch.from_numpy((images(7).reshape(7, 6, 5) / 255).astype(np.float32))
    with torch.no_grad():
        return net(x).numpy(), net.rnn(x)[0].numpy()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_onnx_files_of_torch(tmp_path: Path, dynamic: bool, bidirectional: bool) -> None:
    path = tmp_path / "net.onnx"
    expected = torch_file(path, dynamic, bidirectional)
    rnn = open_rnn(path, None)
    assert dynamic or rnn.block == 2
    probabilities, states = rnn.run(images(7))
    np.testing.assert_allclose(probabilities, expected[0], atol=1e-5)
    np.testing.assert_allclose(states, expected[1], atol=1e-5)
    assert open_rnn(path, rnn.layer).layer == rnn.layer


def test_a_tensor_of_an_onnx_file_by_name(tmp_path: Path) -> None:
    engine = engine_for(sequential(L.LSTM(4), L.Dense(3, activation="softmax")), None)
    assert isinstance(engine, OnnxEngine)
    path = tmp_path / "net.onnx"
    path.write_bytes(engine.graph)
    by_tensor = open_rnn(path, "states").run(images(5))
    by_node = open_rnn(path, None).run(images(5))
    assert np.array_equal(by_tensor[1], by_node[1])
    with pytest.raises(UserError, match="did you mean 'states'"):
        open_rnn(path, "state")


def test_layers_are_a_chain_where_each_reads_the_one_before_it() -> None:
    inputs = keras.Input((4, 3))
    steps, scores = keras.layers.GRU(3, return_sequences=True), keras.layers.GRU(2)
    chained = keras.Model(inputs, scores(steps(inputs)))
    assert find_layer_chain(chained) == [steps, scores]
    twice = keras.Model(inputs, scores(steps(steps(inputs))))
    beside = keras.Model(inputs, keras.layers.Add()([scores(inputs), scores(steps(inputs))]))
    early = keras.Model(inputs, [steps(inputs), scores(steps(inputs))])
    assert [find_layer_chain(model) for model in (twice, beside, early)] == [None, None, None]


@pytest.mark.parametrize("cell", ["LSTM", "GRU", "SimpleRNN"])
def test_an_onnx_file_with_weights_of_nan_is_rejected(tmp_path: Path, cell: str) -> None:
    model = with_spoilt_weights(cell, 0, np.nan)
    graph = write_graph(find_layer_chain(model), find_layer(model, None)).graph
    path = tmp_path / "net.onnx"
    path.write_bytes(graph)
    with pytest.raises(UserError, match="hold NaN or infinity"):
        open_rnn(path, None)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    damaged = tmp_path / "net.onnx"
    damaged.write_bytes(b"\x08\x07not a model")
    with pytest.raises(UserError, match="no ONNX model"):
        open_rnn(damaged, None)
    with pytest.raises(UserError, match="there is no model file"):
        open_rnn(tmp_path / "absent.onnx", None)
    with pytest.raises(UserError, match="suffix must be"):
        open_rnn(tmp_path / "net.pt", None)
    with pytest.raises(UserError, match="no model file"):
        open_rnn(tmp_path / "absent.keras", None)


def test_the_published_network_opens(shared_models: Path) -> None:
    rnn = open_rnn(shared_models / "mnist-lstm.h5", None)
    assert (rnn.layer, rnn.classes, rnn.width) == ("lstm_1", 10, 128)
    assert rnn.run(images(2, (28, 28, 1)))[1].shape == (2, 28, 128)
