import shlex
import shutil
import subprocess
import sys
from itertools import product
from typing import get_args

import keras
import numpy as np
import onnx
import pytest
import torch
from endless_onnx import endless_rnn
from small_trainings import digits, recurrent

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.messages.errors import UserError
from asterism.models.params import Optimizer, RnnFile
from asterism.models.recurrent import RecurrentModel
from asterism.models.recurrent.opening import IsolatedEngine, engine_for
from asterism.models.recurrent.trained import open_trained, save_trained, store_file
from asterism.models.training.recurrent import build_rnn, rnn_accuracy, rows_as_steps, train_rnn
from thinning import every


def test_rows_are_time_steps():
    images = np.arange(2 * 3 * 4 * 2, dtype=np.uint8).reshape(2, 3, 4, 2)
    rows = rows_as_steps(images)
    assert rows.shape == (2, 3, 8)
    assert rows[1, 2, 7] == np.float32(images[1, 2, 3, 1] / 255)


@pytest.mark.parametrize(
    ("cell", "units"), every(3, list(product(["lstm", "gru", "simple_rnn"], [(6,), (6, 5)])))
)
def test_every_architecture_is_built_stored_and_run(tmp_path, cell, units):
    model = build_rnn(recurrent(cell, units), digits().image_shape, digits().classes)
    save_trained(model, tmp_path)
    network = open_trained(tmp_path)
    probabilities, states = network.run(digits().test_images)
    assert states.shape == (60, 28, units[-1])
    assert np.allclose(probabilities, model(rows_as_steps(digits().test_images)), atol=1e-5)
    assert read_json(tmp_path / "rnn.json")["graph"]["layer"] == f"{cell}_{len(units)}"


@pytest.mark.slow
def test_training_learns_and_gives_the_same_weights_again():
    models = [train_rnn(recurrent(units=[8]), digits(), seed)[0] for seed in (1, 1, 2)]
    first, again, other = [m.get_weights() for m in models]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_accuracy_is_the_share_of_images_that_are_put_into_their_class():
    model = build_rnn(recurrent(units=[8]), digits().image_shape, digits().classes)
    network = RecurrentModel(engine_for(model, None))
    predicted = model.predict(rows_as_steps(digits().test_images), verbose=0).argmax(axis=1)
    labels = np.where(np.arange(60) < 15, predicted, (predicted + 1) % digits().classes)
    for batch in (7, 60, 512):
        assert rnn_accuracy(network, digits().test_images, labels, batch) == 0.25


def test_the_default_architecture_is_the_published_one():
    model = build_rnn(recurrent(units=[128]), (28, 28, 1), 10)
    assert model.count_params() == 81_674  # of the published MNIST network


def test_the_optimisers_that_may_be_named_are_those_that_keras_makes_of_a_name():
    def makes(name):
        try:
            return isinstance(keras.optimizers.get(name), keras.optimizers.Optimizer)
        except (KeyError, TypeError, ValueError):  # no optimiser, or one that needs more
            return False

    made = {name.lower() for name in vars(keras.optimizers) if makes(name.lower())}
    assert set(get_args(Optimizer)) == made | {"nesterov_sgd"}


@pytest.mark.slow
def test_the_users_own_file(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((28, 28)),
            keras.layers.GRU(5, return_sequences=True, name="first"),
            keras.layers.GRU(4, name="second"),
            keras.layers.Dense(10),
        ]
    )
    source = tmp_path / "own.h5"
    model.save(source)
    for layer, width in (("first", 5), ("second", 4), (None, 4)):
        folder = tmp_path / str(layer)
        store_file(RnnFile(source="file", path=str(source), layer=layer), 10, folder)
        network = open_trained(folder)
        assert network.run(digits().test_images)[1].shape == (60, 28, width)
        assert 0 <= rnn_accuracy(network, digits().test_images, digits().test_labels) <= 1
    with pytest.raises(UserError, match="third"):
        store_file(RnnFile(source="file", path=str(source), layer="third"), 10, tmp_path / "x")
    with pytest.raises(UserError, match=r"10 outputs.* 11 classes"):
        store_file(RnnFile(source="file", path=str(source), layer=None), 11, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_digits_are_learnt_to_96_percent():
    data = digits(None, None)
    chosen = recurrent(units=[128], optimizer="rmsprop", learning_rate=0.001, epochs=30)
    model, _ = train_rnn(chosen, data, 0)
    predicted = model.predict(rows_as_steps(data.test_images), verbose=0).argmax(axis=1)
    assert (predicted == data.test_labels).mean() >= 0.96


def test_an_onnx_file_with_weights_beside_it_is_stored_once_it_is_packed(tmp_path):
    engine = engine_for(
        build_rnn(recurrent(units=[8]), digits().image_shape, digits().classes), None
    )
    given = tmp_path / "given"
    given.mkdir()
    onnx.save(
        onnx.load_from_string(engine.graph),
        given / "net.onnx",
        save_as_external_data=True,
        location="net.onnx.data",
        size_threshold=0,
    )
    params = RnnFile(source="file", path=str(given / "net.onnx"), layer=None)
    with pytest.raises(UserError, match="asterism pack") as rejected:
        store_file(params, 10, tmp_path / "stored")
    assert not (tmp_path / "stored").exists()
    advice = str(rejected.value).partition("`")[2].partition("`")[0]
    program = "import sys; from asterism.cli import main; main()"
    subprocess.run([sys.executable, "-c", program, *shlex.split(advice)[1:]], check=True)
    shutil.copy(given / "net-whole.onnx", tmp_path / "net.onnx")
    shutil.rmtree(given)
    params = RnnFile(source="file", path=str(tmp_path / "net.onnx"), layer=None)
    stored = store_file(params, 10, tmp_path / "stored")
    expected = RecurrentModel(engine).run(digits().test_images)
    for network in (stored, open_trained(tmp_path / "stored")):
        assert np.array_equal(network.run(digits().test_images)[1], expected[1])
    onnx.checker.check_model(tmp_path / "stored" / "model.onnx")


class LastStep(torch.nn.Module):
    """Scores of classes after the last row of an image."""

    def __init__(self):
        super().__init__()
        self.rnn, self.out = torch.nn.GRU(28, 5, batch_first=True), torch.nn.Linear(5, 10)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def test_a_program_of_pytorch_is_stored_and_run(tmp_path):
    net, free = LastStep().eval(), ({0: torch.export.Dim.AUTO},)
    program = torch.export.export(net, (torch.zeros(2, 28, 28),), dynamic_shapes=free)
    torch.export.save(program, tmp_path / "net.pt2")
    params = RnnFile(source="file", path=str(tmp_path / "net.pt2"), layer=None)
    stored = store_file(params, 10, tmp_path / "stored")
    with torch.no_grad():
        expected = net.rnn(torch.from_numpy(rows_as_steps(digits().test_images)))[0].numpy()
    for network in (stored, open_trained(tmp_path / "stored")):
        assert network.run(digits().test_images)[1] == pytest.approx(expected, abs=1e-6)


def test_an_architecture_without_weights_is_rejected(tmp_path):
    (tmp_path / "net.json").write_text("{}")
    params = RnnFile(source="file", path=str(tmp_path / "net.json"), layer=None)
    with pytest.raises(UserError, match=r"\.keras, \.h5, \.hdf5, \.onnx or \.pt2"):
        store_file(params, 10, tmp_path / "stored")


FORM = {"layer": "x", "steps": None, "features": 8, "batch": None}
NOTE = {"file": "model.keras", "layer": None, "graph": None}


@pytest.mark.parametrize(
    "note",
    [
        NOTE | {"file": "../../model.onnx"},
        NOTE | {"file": "/etc/passwd"},
        NOTE | {"file": "model.onnx/../../x.onnx"},
        NOTE | {"graph": FORM | {"providers": ["x"]}},
        NOTE | {"graph": FORM | {"graph": "x"}},
        NOTE | {"graph": FORM | {"steps": "8"}},
        NOTE | {"graph": [1]},
        NOTE | {"layer": ["x"]},
        NOTE | {"other": 1},
        [NOTE],
    ],
)
def test_a_note_that_train_rnn_has_not_written_is_one_line(tmp_path, note):
    endless_rnn(tmp_path / "graph.onnx")
    write_json(tmp_path / "rnn.json", note)
    with pytest.raises(UserError, match=r"cannot read .*rnn\.json"):
        open_trained(tmp_path)


def test_a_graph_with_a_loop_does_not_run_in_the_stage(tmp_path):
    """Somebody else's cache may hold one where a trained network's graph belongs."""
    endless_rnn(tmp_path / "graph.onnx")
    write_json(tmp_path / "rnn.json", NOTE | {"graph": FORM})
    with pytest.raises(UserError, match=r"graph\.onnx .*'And'"):
        open_trained(tmp_path)


@pytest.mark.slow
def test_a_file_that_says_nothing_of_isolation_runs_apart_nevertheless(tmp_path, monkeypatch):
    endless_rnn(tmp_path / "model.onnx")
    write_json(tmp_path / "rnn.json", NOTE | {"file": "model.onnx", "layer": "states"})
    opened = []
    monkeypatch.setattr(
        "asterism.models.recurrent.opening.IsolatedEngine",
        lambda *given: opened.append(IsolatedEngine(*given)) or opened[-1],
    )
    open_trained(tmp_path)
    assert len(opened) == 1
    opened[0].close()
