"""Networks of Keras, copied to PyTorch, trained there, and given back."""

import keras
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from small_trainings import TRAINING, UNIT, classifier, digits, recurrent

from asterism.core.messages.errors import UserError
from asterism.models.architectures import build_architecture
from asterism.models.parameters.params import TrainingParams
from asterism.models.training.image_classifier import train_classifier
from asterism.models.training.recurrent import build_rnn, rows_as_steps, train_rnn
from asterism.models.training.torch_copies import TorchCopy, as_torch_takes
from asterism.models.training.torch_fitting import deterministic, fit_by_torch

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
    with pytest.raises(ValidationError, match="trained_by: keras"):
        classifier(trained_by="torch", augment=True)
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
