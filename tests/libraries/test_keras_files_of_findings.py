"""Minimal models as files of Keras' own."""

import numpy as np
import pytest

from asterism.core.files.artifacts import write_json
from asterism.differential.report import keras_files
from asterism.differential.report.keras_files import write_keras_files
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.graphs.keras_build import build
from asterism.memo.graphs.keras_read import graph_of
from asterism.memo.graphs.store import write_weights
from asterism.models.keras_models.reading import load_keras

READABLE = Graph(
    {
        0: input_node((5, 3)),
        1: Node("Bidirectional", {"layer": "LSTM", "units": 2, "activation": "relu"}, (0,), 3),
        2: Node("Dense", {"units": 2, "dtype": "float32"}, (1,), 4, "kept"),
    }
)
REJECTED = Graph(
    {
        0: input_node((6,)),
        1: Node("Dense", {"units": 2, "activation": "no such function"}, (0,)),
    }
)


#: Runs first in every Python process that has its folder on PYTHONPATH.
AT_THE_SECOND = """
import os, signal, sys, time

def act(event, arguments):
    if event == "open" and str(arguments[0]).endswith("second/model.json"):
        {act}

sys.addaudithook(act)
"""


@pytest.fixture
def folders(tmp_path):
    """Three folders of one graph each."""
    write_weights(tmp_path / "weights.npz", {})
    dense = Graph({0: input_node((6,)), 1: Node("Dense", {"units": 2}, (0,), 1)})
    made = [tmp_path / name for name in ("first", "second", "third")]
    for folder in made:
        write_json(folder / "model.json", dense.to_json())
    return made


@pytest.fixture
def at_the_second(tmp_path, monkeypatch):
    """Lets the process that writes Keras' files do something when it comes to the second graph."""

    def make(act):
        (tmp_path / "site").mkdir()
        (tmp_path / "site/sitecustomize.py").write_text(AT_THE_SECOND.format(act=act))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    return make


def test_a_graph_that_kills_keras_costs_the_files_that_are_left_and_no_more(folders, at_the_second):
    at_the_second("os.kill(os.getpid(), signal.SIGKILL)")
    write_keras_files(folders, folders[0].parent / "weights.npz")
    assert [sorted(f.name for f in folder.iterdir()) for folder in folders] == [
        ["model.json", "model.keras"],
        ["model.json"],
        ["model.json"],
    ]


def test_a_process_that_hangs_is_waited_for_a_while(folders, at_the_second, monkeypatch):
    at_the_second("time.sleep(600)")
    monkeypatch.setattr(keras_files, "_SECONDS", 0.1)
    write_keras_files(folders, folders[0].parent / "weights.npz")
    assert not list(folders[0].parent.rglob("model.keras"))


@pytest.mark.slow
def test_a_model_that_keras_takes_lies_in_its_folder(tmp_path):
    kernel = np.arange(8, dtype=np.float32).reshape(4, 2)
    stored = {"kept": [("kernel", kernel), ("bias", np.ones(2, np.float32))]}
    write_weights(tmp_path / "weights.npz", stored)
    folders = [tmp_path / name for name in ("first", "rejected", "again")]
    for folder, graph in zip(folders, (READABLE, REJECTED, READABLE), strict=True):
        write_json(folder / "model.json", graph.to_json())
    write_keras_files(folders, tmp_path / "weights.npz")
    assert not (folders[1] / "model.keras").exists()
    first, again = ((folder / "model.keras").read_bytes() for folder in folders[::2])
    assert first == again
    model = load_keras(folders[0] / "model.keras")
    batch = np.ones((2, 5, 3), np.float32)
    expected = np.asarray(build(READABLE, stored)(batch, training=False))
    np.testing.assert_array_equal(np.asarray(model(batch, training=False)), expected)
    graph, arrays = graph_of(model, open_size=8)
    ours = build(graph, arrays)(batch, training=False)
    np.testing.assert_array_equal(np.asarray(ours), expected)
