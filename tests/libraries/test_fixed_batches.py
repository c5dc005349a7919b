"""Recurrent models in LiteRT, which has them for batches of one size only."""

import keras
import numpy as np
import pytest

from asterism.differential.adapters.library import CONVERTERS, Converter
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.memo.graphs.graph import Graph, Node, input_node, sequential
from asterism.memo.universe.tensors import Tensor
from libraries.small_results import chained
from libraries.small_runs import task_of
from memo.small_graphs import layer, recurrent

BACKENDS = POOL = ("tensorflow:eager", "litert:tflite")
SEQUENCE, IMAGES = Tensor((5, 3)), Tensor((4, 6, 2))
MODELS = {
    "LSTM": recurrent(),
    "GRU": sequential(SEQUENCE, [layer("GRU", units=4, go_backwards=True)]),
    "SimpleRNN": sequential(SEQUENCE, [layer("SimpleRNN", units=4), layer("Dense", units=2)]),
    "Bidirectional": sequential(SEQUENCE, [layer("Bidirectional", layer="GRU", units=4)]),
    "ConvLSTM1D": sequential(IMAGES, [layer("ConvLSTM1D", filters=2, kernel_size=[3])]),
}
#: The smaller input comes second: an order by size would change it.
TWO_INPUTS = Graph(
    {
        0: input_node((5, 3)),
        1: input_node((2,)),
        2: Node("LSTM", {"units": 2, "dtype": "float32"}, (0,), seed=1),
        3: Node("Subtract", {"dtype": "float32"}, (2, 1)),
    }
)


def run(worker_pool, graph, distribution="normal", batch=None):
    arrays = [array[:batch] for array in sample_inputs(graph, 0, 0, distribution)]
    return worker_pool.run(Task(0, graph, {distribution: arrays}))


def test_a_task_knows_the_size_of_its_batches():
    """That of an input that has one."""

    def batch(*arrays):
        return Task(0, TWO_INPUTS, {"normal": list(arrays)}).batch

    assert [task_of(TWO_INPUTS, kind).batch for kind in ("normal", "empty")] == [2, 0]
    assert batch(np.float32(1), np.zeros((3, 2))) == 3
    assert batch(np.array(1)) is None and batch() is None


def test_no_default_signature_is_made_while_a_model_is_written(monkeypatch):
    class Layer:
        made = 0

        @property
        def _default_save_signature(self):
            Layer.made += 1
            return "signature"

    class Model(Layer):
        pass

    def fails(*_):
        assert Layer()._default_save_signature is None
        raise OSError

    monkeypatch.setattr(keras, "Model", Model)
    monkeypatch.setattr(Converter, "convert", fails)
    with pytest.raises(OSError):
        CONVERTERS["tflite"]().convert(None, None)
    assert Layer.made == 0
    assert Model()._default_save_signature == "signature"


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("graph", [*MODELS.values(), TWO_INPUTS], ids=[*MODELS, "two inputs"])
def test_recurrent_models_compute_there_what_they_compute_in_tensorflow(worker_pool, graph, batch):
    result = run(worker_pool, graph, batch=batch)
    expected, found = (result.outputs[backend]["normal"] for backend in BACKENDS)
    assert len(found[0]) == batch
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_nothing_is_fixed_of_a_batch_without_items(worker_pool):
    graph = chained((3,), layer("Dense", units=2))
    result = run(worker_pool, graph, "empty")
    assert result.outcomes["tflite"].status == "ok"
    rejected = run(worker_pool, MODELS["LSTM"], "empty").outcomes
    assert rejected["tflite"].status == "unsupported"
