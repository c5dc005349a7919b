"""Networks of Keras, copied to PyTorch, trained there, and given back."""

import keras
import numpy as np
import pytest
import torch
from pydantic import ValidationError

from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load
from asterism.models.architectures import build
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.parameters.params import ClassifierParams, TrainedRnn, TrainingParams
from asterism.models.training.image_classifier import train_classifier
from asterism.models.training.recurrent import build_rnn, rows_as_steps, train_rnn
from asterism.models.training.torch_copies import TorchCopy, as_torch_takes
from asterism.models.training.torch_fitting import deterministic, fit_by_torch

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
TRAINING = {"optimizer": "adam", "learning_rate": 0.005, "batch_size": 32, "epochs": 2}


@pytest.fixture(scope="module")
def digits():
    return load(DataParams(name="digits", path="conf/no_file", train=300, test=60))


def rnn(cell, units=(6, 5)):
    return TrainedRnn(
        source="train",
        path="conf/no_file",
        cell=cell,
        trained_by="torch",
        units=list(units),
        training=TRAINING,
    )


def classifier(**changes):
    defaults = {
        "source": "train",
        "path": "conf/no_file",
        "weights": "conf/no_file",
        "architecture": "lenet4",
        "trained_by": "torch",
        "training": TRAINING,
        "learning_rate_drops": [],
        "learning_rate_decay": 0.0,
        "augment": False,
    }
    return ClassifierParams(**defaults | changes)


NETWORKS = {
    "lenet5": lambda: build("lenet5", (28, 28, 1), 10, key="x"),
    "resnet20": lambda: build("resnet20", (16, 16, 3), 10, key="x"),
    "vgg16": lambda: build("vgg16", (32, 32, 3), 10, key="x"),
    "lstm": lambda: build_rnn(rnn("lstm"), (8, 4, 1), 3),
    "gru": lambda: build_rnn(rnn("gru"), (8, 4, 1), 3),
    "simple_rnn": lambda: build_rnn(rnn("simple_rnn"), (8, 4, 1), 3),
}


@pytest.mark.parametrize("name", NETWORKS)
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


def test_a_classifier_learns_and_has_the_same_weights_again(digits):
    (first, history), (again, _), (other, _) = (
        train_classifier(classifier(), UNIT, digits, seed) for seed in (1, 1, 2)
    )
    for one, two in zip(first.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.get_weights()[0], other.get_weights()[0])
    assert history["loss"][1] < history["loss"][0]
    found = first.predict(UNIT.apply(digits.train_images), verbose=0).argmax(1)
    assert (found == digits.train_labels).mean() > 0.6
    assert torch.get_num_threads() and not torch.are_deterministic_algorithms_enabled()


def test_a_recurrent_network_learns(digits):
    model, accuracy = train_rnn(rnn("lstm", [24]), digits, 0)
    assert accuracy[1] > accuracy[0]
    predicted = model.predict(rows_as_steps(digits.train_images), verbose=0).argmax(axis=1)
    assert (predicted == digits.train_labels).mean() > 0.3


def test_the_learning_rate_falls_as_in_keras(digits):
    """Steps of a plain descent on one batch, written out."""
    few = load(DataParams(name="digits", path="conf/no_file", train=8, test=2))
    steep = TRAINING | {"optimizer": "sgd", "learning_rate": 0.5, "batch_size": 8, "epochs": 3}
    chosen = {"training": steep, "learning_rate_drops": [2], "learning_rate_decay": 1.0}
    weights = {
        library: train_classifier(classifier(trained_by=library, **chosen), UNIT, few, 0)[0]
        for library in ("keras", "torch")
    }
    both = (model.get_weights() for model in weights.values())
    for one, two in zip(*both, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


def test_what_pytorch_has_not_is_said(digits):
    with pytest.raises(ValidationError, match="trained_by: keras"):
        classifier(augment=True)
    with pytest.raises(UserError, match="no optimiser 'ftrl'"):
        train_classifier(classifier(training=TRAINING | {"optimizer": "ftrl"}), UNIT, digits, 0)
    other = keras.Sequential(
        [keras.Input((4,)), keras.layers.UnitNormalization(), keras.layers.Dense(2, "softmax")]
    )
    with pytest.raises(UserError, match="UnitNormalization, which is not copied"):
        TorchCopy(other)
    bent = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, "sigmoid")])
    with pytest.raises(UserError, match="ends in no softmax"):
        TorchCopy(bent)
