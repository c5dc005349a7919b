"""Keras-MXNet: models are written in the words of Keras 2, and run where it is installed."""

import json
from pathlib import Path

import numpy as np
import pytest

import asterism_mxnet
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from asterism_mxnet.keras2 import keras2_layer, write_keras2
from memo.small_graphs import layer
from real_environments import make_or_skip

ROOT = Path(__file__).parents[3]
NAME = "keras_mxnet@2.2.4"
BACKENDS = (f"{NAME}:keras2", "pytorch:eager")
SEQUENCE, IMAGE = Tensor((5, 3)), Tensor((6, 6, 2))
RIGHT = {
    "Dense": sequential(Tensor((4,)), [layer("Dense", units=3, activation="relu")]),
    "Conv2D": sequential(IMAGE, [layer("Conv2D", filters=3, kernel_size=[3, 3])]),
    "MaxPooling2D": sequential(IMAGE, [layer("MaxPooling2D", pool_size=[2, 2]), layer("Flatten")]),
    "SimpleRNN": sequential(SEQUENCE, [layer("SimpleRNN", units=3)]),
    "LSTM": sequential(SEQUENCE, [layer("LSTM", units=3)]),
    "GRU": sequential(SEQUENCE, [layer("GRU", units=3)]),
}


def test_only_what_differs_from_the_default_is_told():
    import keras

    made = keras.layers.LeakyReLU(negative_slope=0.5, name="one")
    told = keras2_layer("LeakyReLU", made.get_config())
    assert told == {"name": "one", "alpha": 0.5}
    loop = keras2_layer("GRU", keras.layers.GRU(3, name="two").get_config())
    assert loop["reset_after"] is True and loop["recurrent_activation"] == "sigmoid"


def test_another_function_of_the_same_name_is_rejected():
    import keras

    made = keras.layers.Activation("hard_sigmoid")
    with pytest.raises(NotImplementedError, match="'hard_sigmoid' is not supported in Keras 2"):
        keras2_layer("Activation", made.get_config())


def test_an_archive_holds_the_model_and_nothing_pickled(tmp_path):
    import keras

    given = [keras.Input((3,), name="a"), keras.Input((3,), name="b")]
    sum_of = keras.layers.Add(name="sum")(given)
    model = keras.Model(given, keras.layers.Dense(2, name="dense")(sum_of))
    write_keras2(model, tmp_path / "model.keras2")
    with np.load(tmp_path / "model.keras2", allow_pickle=False) as archive:
        config = json.loads(str(archive["config"]))
        kernel = archive["3_0"]
    by_name = {described["name"]: described for described in config["layers"]}
    assert by_name["sum"]["inbound_nodes"] == [[["a", 0, 0, {}], ["b", 0, 0, {}]]]
    assert config["input_layers"] == [["a", 0, 0], ["b", 0, 0]]
    assert config["output_layers"] == [["dense", 0, 0]]
    assert np.array_equal(kernel, model.get_layer("dense").get_weights()[0])


def test_scripts_are_programs_and_the_converters_writes_what_the_stage_writes(tmp_path):
    import keras

    given = keras.Input((3,), name="a")
    model = keras.Model(given, keras.layers.Dense(2, name="dense")(given))
    names = {"keras": keras, "np": np, "model": model, "path": str(tmp_path / "by_script")}
    exec(compile(CONVERTERS["keras2"]().code().prepare, "script", "exec"), names)
    write_keras2(model, tmp_path / "by_stage")
    assert (tmp_path / "by_script").read_bytes() == (tmp_path / "by_stage").read_bytes()
    code = LIBRARIES["keras_mxnet"]().code("keras2")
    compile(f"{code.prepare}\n{code.call}", "script", "exec")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """Workers of both libraries, one in an environment made as a user makes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_PROGRAMS_ROOT", str(tmp_path_factory.mktemp("programs")))
        patch.setenv("ASTERISM_LIBRARIES", asterism_mxnet.__name__)
        patch.setenv("PYTHONPATH", str(ROOT / "plugins/mxnet"))
        patch.chdir(ROOT)
        make_or_skip(NAME)
        with WorkerPool(BACKENDS, WorkerLimits(240.0, 3000)) as started:
            assert started.start() == {}
            yield started


def run(pool, graph):
    return pool.run(Task(0, graph, {"normal": sample_inputs(graph, 0, 0, "normal")}))


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_common_layers_are_those_of_keras_3(pool, name):
    result = run(pool, RIGHT[name])
    old, new = (result.outputs[backend]["normal"] for backend in BACKENDS)
    assert np.allclose(old[0], new[0], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LayerNormalization", "RMSNormalization"])
def test_a_layer_that_keras_2_lacks_is_unsupported(pool, kind):
    graph = sequential(Tensor((4,)), [layer(kind)])
    found = run(pool, graph).outcomes[BACKENDS[0]]
    assert found.status == "unsupported"
    assert kind in found.message
