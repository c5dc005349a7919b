"""Optimisers by name, and the thread count that weights depend on."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from asterism.models.parameters.params import TrainingParams
from asterism.models.training import fitting as training
from asterism.models.training.fitting import compile_for

FIX_THREADS = training._fix_threads  # read before a fixture of all tests replaces it


def test_the_weight_decay_is_what_a_penalty_of_1e_4_does():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    params = TrainingParams(optimizer="nesterov_sgd", learning_rate=0.1, batch_size=1, epochs=1)
    compile_for(model, params)
    decayed = model.trainable_variables[0]
    penalised = keras.Variable(np.ones((1, 1), np.float32))
    decayed.assign(np.ones((1, 1), np.float32))
    plain = keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    for _ in range(300):
        model.optimizer.apply([keras.ops.zeros((1, 1))], [decayed])
        plain.apply([2e-4 * penalised], [penalised])
    shrunk = 1 - float(keras.ops.convert_to_numpy(penalised)[0, 0])
    assert shrunk > 0.05
    assert np.isclose(1 - float(keras.ops.convert_to_numpy(decayed)[0, 0]), shrunk, rtol=0.05)


def test_a_model_is_compiled_for_its_own_loss_alone():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    params = TrainingParams(optimizer="adam", learning_rate=0.1, batch_size=2, epochs=1)
    compile_for(model, params, "mean_squared_error", metrics=())
    inputs = np.ones((2, 1), np.float32)
    target = model.predict(inputs, verbose=0) + 2
    history = training.fit(model, inputs, target, params)
    assert history == {"loss": [pytest.approx(4)]}


def test_a_thread_count_that_comes_too_late_is_rejected(monkeypatch):
    monkeypatch.setattr(training, "_fix_threads", FIX_THREADS)
    keras.ops.zeros(1)  # TensorFlow runs from here on
    with pytest.raises(RuntimeError, match="cannot be modified after initialization"):
        training.make_deterministic(0, "test", threads=97)


def test_operations_run_one_after_another_on_as_many_threads_as_are_fixed(monkeypatch):
    fixed = {}
    for kind in ("intra", "inter"):
        name = f"set_{kind}_op_parallelism_threads"
        monkeypatch.setattr(tf.config.threading, name, lambda n, kind=kind: fixed.update({kind: n}))
    FIX_THREADS(97)
    assert fixed == {"intra": 97, "inter": 1}
