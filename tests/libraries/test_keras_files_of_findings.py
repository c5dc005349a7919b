"""Minimal models as files of Keras' own."""

import numpy as np
import pytest

from asterism.core.artifacts import write_json
from asterism.libraries.keras_files import write_keras_files
from asterism.memo.graph import Graph, Node, input_node
from asterism.memo.keras_build import build
from asterism.memo.keras_read import graph_of
from asterism.memo.store import write_weights
from asterism.models.keras_files import load_keras

READABLE = Graph(
    {
        0: input_node((5, 3)),
        1: Node("Bidirectional", {"layer": "LSTM", "units": 2, "activation": "relu"}, (0,), 3),
        2: Node("Dense", {"units": 2, "dtype": "float32"}, (1,), 4, "kept"),
    }
)
REFUSED = Graph(
    {
        0: input_node((6,)),
        1: Node("Dense", {"units": 2, "activation": "no such function"}, (0,)),
    }
)


@pytest.mark.slow
def test_a_model_that_keras_takes_lies_in_its_folder(tmp_path):
    kernel = np.arange(8, dtype=np.float32).reshape(4, 2)
    stored = {"kept": [("kernel", kernel), ("bias", np.ones(2, np.float32))]}
    write_weights(tmp_path / "weights.npz", stored)
    folders = [tmp_path / name for name in ("first", "refused", "again")]
    for folder, graph in zip(folders, (READABLE, REFUSED, READABLE), strict=True):
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
