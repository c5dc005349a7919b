"""Trainings in Keras: those that the configuration offers, optimisers, rates, threads."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_trainings import UNIT, classifier, digits

from asterism.config import compose
from asterism.core.files.artifacts import read_json, read_table
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.models.architectures import build_architecture
from asterism.models.keras_models.reading import load_keras
from asterism.models.parameters.params import TrainingParams
from asterism.models.training import fitting as training
from asterism.models.training.fitting import compile_for
from asterism.models.training.image_classifier import learning_rate_schedule, train_classifier
from places import ROOT

FIX_THREADS = training._fix_threads  # read before a fixture of all tests replaces it
STUDY = {
    "study_mnist_lenet1": ("adadelta", 1.0, 256, 10),
    "study_mnist_lenet4": ("adadelta", 1.0, 256, 10),
    "study_mnist_lenet5": ("adadelta", 1.0, 256, 10),
    "study_cifar10": ("rmsprop", 1e-4, 32, 40),
}


@pytest.mark.parametrize("decay", [0.0, 0.25])
def test_the_learning_rate_falls_by_steps_and_by_epochs(decay):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    seen = []
    watch = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(float(model.optimizer.learning_rate))
    )
    steep = {"optimizer": "sgd", "learning_rate": 0.5, "batch_size": 4, "epochs": 3}
    chosen = classifier(steep, learning_rate_drops=[2], learning_rate_decay=decay)
    schedule = learning_rate_schedule(chosen, model)
    data = np.zeros((8, 1), np.float32)
    model.fit(data, data, batch_size=4, epochs=3, verbose=0, callbacks=[schedule, watch])
    base = [0.5, 0.5, 0.5, 0.5, 0.05, 0.05]
    expected = [rate / (1 + decay * step) for step, rate in enumerate(base)]
    assert seen == pytest.approx(expected, rel=1e-5)


def test_an_architecture_that_the_images_are_too_small_for_is_told():
    message = r"classifier\.architecture is 'dave2', which cannot be built for .* \(28, 28, 1\)"
    with pytest.raises(UserError, match=message):
        train_classifier(classifier(architecture="dave2"), UNIT, digits(20, 10), 0)


@pytest.mark.parametrize("name", ["dave2", "lenet5", "plain_cnn"])  # announced by Keras or not
def test_why_it_cannot_be_built_is_told(name):
    with pytest.raises(UserError, match=f"architecture is '{name}', .*Keras says: "):
        build_architecture(name, (2, 2, 1), 4, key="classifier.architecture")


@pytest.mark.slow
@pytest.mark.parametrize("experiment", STUDY)
def test_a_training_of_the_study_runs(experiment, tmp_path, monkeypatch, shared_data):
    tiny = ["data.train=2000", "data.test=300", "classifier.training.epochs=1"]
    published = compose(ROOT / "conf", [f"+experiment={experiment}"])
    (tmp_path / "params.yaml").write_text(published)
    monkeypatch.chdir(tmp_path)
    stage = load_script(ROOT / "stages", "train_classifier")
    asked = read_params(stage.Params).classifier.training
    found = (asked.optimizer, asked.learning_rate, asked.batch_size, asked.epochs)
    assert found == STUDY[experiment]
    (tmp_path / "params.yaml").write_text(
        compose(ROOT / "conf", [f"+experiment={experiment}", *tiny])
    )
    stage.run(read_params(stage.Params))
    loss = read_table(tmp_path / "plots/train_classifier/history.csv")["loss"]
    assert len(loss) == 1
    assert 0 < loss[0] < np.log(10) + 0.1
    assert 0 <= read_json(tmp_path / "metrics/train_classifier.json")["test_accuracy"] <= 1
    load_keras(tmp_path / "artifacts/train_classifier/model.keras")


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
    history = training.fit_model(model, inputs, target, params)
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
