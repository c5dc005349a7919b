"""Trainings in Keras: those that the configuration offers, optimisers, rates, threads."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from pydantic import ValidationError
from small_trainings import TRAINING, UNIT, classifier, digits, recurrent

from asterism.config import compose
from asterism.core.files.artifacts import read_json, read_table
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.resuming import checkpoints
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.running.stage import load_script
from asterism.models.architectures import build_architecture
from asterism.models.keras_models.reading import load_keras
from asterism.models.params import TrainingParams
from asterism.models.training import fitting as training
from asterism.models.training.fitting import compile_for
from asterism.models.training.image_classifier import learning_rate_schedule, train_classifier
from asterism.models.training.recurrent import build_rnn, rows_as_steps, train_rnn
from asterism.models.training.torch_copies import TorchCopy, as_torch_takes
from asterism.models.training.torch_fitting import (
    TorchOptions,
    _shifted_and_mirrored,
    deterministic,
    fit_by_torch,
    train_by_torch,
)
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
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
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


NETWORKS = {
    "lenet5": lambda: build_architecture("lenet5", (28, 28, 1), 10, key="x"),
    "resnet20": lambda: build_architecture("resnet20", (16, 16, 3), 10, key="x"),
    "vgg16": lambda: build_architecture("vgg16", (32, 32, 3), 10, key="x"),
    "lstm": lambda: build_rnn(recurrent("lstm"), (8, 4, 1), 3),
    "gru": lambda: build_rnn(recurrent("gru"), (8, 4, 1), 3),
    "simple_rnn": lambda: build_rnn(recurrent("simple_rnn"), (8, 4, 1), 3),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "vgg16")) for n in NETWORKS]
)
def test_what_was_learnt_by_the_copy_is_given_back(name):
    """The copy answers as the model before a step of training, and the model as the copy after."""
    keras.utils.set_random_seed(3)
    model = NETWORKS[name]()
    classes = model.output_shape[-1]
    inputs = np.random.default_rng(1).random((32, *model.input_shape[1:]), dtype=np.float32)
    copy = TorchCopy(model)
    before = np.asarray(model(inputs))
    with torch.no_grad():
        np.testing.assert_allclose(copy(as_torch_takes(inputs)).numpy(), before, atol=1e-5)
    once = TrainingParams(**TRAINING | {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 1})
    with deterministic(0, "test"):
        fit_by_torch(copy, inputs, np.arange(32) % classes, once)
    copy.give_weights(model)
    after = np.asarray(model(inputs))
    with torch.no_grad():
        np.testing.assert_allclose(copy(as_torch_takes(inputs)).numpy(), after, atol=1e-5)
    assert np.abs(after - before).max() > 1e-4


def test_a_classifier_learns_and_has_the_same_weights_again():
    (first, _), (again, _), (other, _) = (
        train_classifier(classifier(trained_by="torch"), UNIT, digits(40, 5), seed)
        for seed in (1, 1, 2)
    )
    for one, two in zip(first.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.get_weights()[0], other.get_weights()[0])
    model, history = train_classifier(classifier(trained_by="torch"), UNIT, digits(), 1)
    assert history["loss"][1] < history["loss"][0]
    found = model.predict(UNIT.apply(digits().train_images), verbose=0).argmax(1)
    assert (found == digits().train_labels).mean() > 0.6
    assert torch.get_num_threads() and not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("optimizer", ["adam", "nesterov_sgd"])
def test_a_killed_training_resumes_with_the_same_weights(optimizer, state_root, monkeypatch):
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0)
    params = TrainingParams(**TRAINING | {"optimizer": optimizer, "epochs": 3})
    data = digits(64, 5)
    inputs, labels = UNIT.apply(data.train_images), data.train_labels

    def train(**options):
        keras.utils.set_random_seed(2)
        model = build_architecture("lenet4", data.image_shape, data.classes, key="x")
        history = train_by_torch(model, inputs, labels, params, 1, TorchOptions(**options))
        return model.get_weights(), history

    def kill(epoch, taken):
        if taken == 5:  # in the third epoch of two steps each
            raise KeyboardInterrupt
        return 0.01

    place = state_root / "units" / "training"
    with pytest.raises(KeyboardInterrupt):
        train(rate=kill, augment=True, checkpoint=Checkpoint(place))
    rates = []
    resumed, history = train(
        rate=lambda epoch, taken: rates.append(taken) or 0.01,
        augment=True,
        checkpoint=Checkpoint(place),
    )
    whole, expected = train(rate=lambda epoch, taken: 0.01, augment=True)
    assert rates == [4, 5]
    assert history == expected
    for one, two in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(one, two)


def test_images_are_shifted_and_mirrored():
    """Of 200 images with one bright pixel in the middle, which is seen at all of its places."""
    images = torch.zeros(200, 3, 16, 16)
    images[:, :, 8, 8] = 1
    seen = _shifted_and_mirrored(images)
    assert seen.shape == images.shape
    assert (seen.sum((1, 2, 3)) == 3).all()
    _, _, rows, columns = torch.nonzero(seen, as_tuple=True)
    assert set(rows.tolist()) == set(range(6, 11))
    assert set(columns.tolist()) == set(range(5, 11))  # a mirrored one begins at 7


def test_bfloat16_learns_nearly_the_same():
    chosen = classifier({"optimizer": "sgd", "epochs": 1}, trained_by="torch")
    half = chosen.model_copy(update={"precision": "bfloat16"})
    (one, first), (two, second) = (
        train_classifier(params, UNIT, digits(64, 5), 0) for params in (chosen, half)
    )
    assert first != second
    for whole, rounded in zip(one.get_weights(), two.get_weights(), strict=True):
        np.testing.assert_allclose(rounded, whole, atol=1e-3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_learns_nearly_the_same_and_has_the_same_weights_again():
    data, params = digits(64, 5), TrainingParams(**TRAINING | {"optimizer": "sgd", "epochs": 1})
    trained = []
    for device in ("cpu", "cuda", "cuda"):
        keras.utils.set_random_seed(2)
        model = build_architecture("lenet4", data.image_shape, data.classes, key="x")
        options = TorchOptions(augment=True, device=device)
        inputs = UNIT.apply(data.train_images)
        train_by_torch(model, inputs, data.train_labels, params, 1, options)
        trained.append(model.get_weights())
    for on_cpu, on_gpu, again in zip(*trained, strict=True):
        np.testing.assert_allclose(on_gpu, on_cpu, atol=1e-3)
        np.testing.assert_array_equal(on_gpu, again)


def test_a_recurrent_network_learns():
    model, accuracy = train_rnn(recurrent("lstm", [24], "torch"), digits(), 0)
    assert accuracy[1] > accuracy[0]
    predicted = model.predict(rows_as_steps(digits().train_images), verbose=0).argmax(axis=1)
    assert (predicted == digits().train_labels).mean() > 0.3


def test_the_learning_rate_falls_as_in_keras():
    """Steps of a plain descent on one batch, written out."""
    steep = {"optimizer": "sgd", "learning_rate": 0.5, "batch_size": 8, "epochs": 3}
    chosen = {"training": steep, "learning_rate_drops": [2], "learning_rate_decay": 1.0}
    few = digits(8, 2)
    weights = {
        library: train_classifier(classifier(trained_by=library, **chosen), UNIT, few, 0)[0]
        for library in ("keras", "torch")
    }
    both = (model.get_weights() for model in weights.values())
    for one, two in zip(*both, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


def test_what_pytorch_has_not_is_said():
    with pytest.raises(ValidationError, match="trained_by: torch"):
        classifier(trained_by="keras", precision="bfloat16")
    with pytest.raises(UserError, match="no optimiser 'ftrl'"):
        chosen = classifier({"optimizer": "ftrl"}, trained_by="torch")
        train_classifier(chosen, UNIT, digits(), 0)
    other = keras.Sequential(
        [keras.Input((4,)), keras.layers.UnitNormalization(), keras.layers.Dense(2, "softmax")]
    )
    with pytest.raises(UserError, match="UnitNormalization"):
        TorchCopy(other)
    bent = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, "sigmoid")])
    with pytest.raises(UserError, match="ends in no softmax"):
        TorchCopy(bent)
