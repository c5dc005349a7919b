"""Models inside models, opened; and logits of classifiers, wherever their softmax stands."""

import keras
import numpy as np
import pytest
from structlog.testing import capture_logs

from asterism.models.images_and_scores import FROM_PROBABILITIES, check_scores, softmax
from asterism.models.keras_models.layers import ClassifierHead, cut_softmax, flatten_model

L = keras.layers


def features():
    return keras.Sequential(
        [keras.Input((8, 8, 1)), L.Conv2D(3, 3, activation="relu", name="conv"), L.Flatten()],
        name="features",
    )


def two_deep():
    inputs = keras.Input((8, 8, 1))
    body = keras.Model(inputs, L.Dense(5, name="conv")(features()(inputs)), name="body")
    return keras.Sequential(
        [keras.Input((8, 8, 1)), body, L.BatchNormalization(), L.Dense(2, name="conv_out")]
    )


def branches():
    """The same model inside, twice, and an operation between layers."""
    inner, inputs = features(), keras.Input((8, 8, 1))
    a, b = inner(inputs), inner(L.ReLU()(inputs))
    return keras.Model(inputs, L.Dense(3)(L.Add()([a, b]) * 2.0))


def two_ends():
    inputs = [keras.Input((3,)), keras.Input((4,))]
    inner = keras.Model(inputs, [L.Dense(2)(inputs[0]), L.Dense(2)(inputs[1])], name="inner")
    outer = [keras.Input((3,)), keras.Input((4,))]
    return keras.Model(outer, L.Concatenate()(inner(outer)))


@pytest.mark.parametrize("build", [two_deep, branches, two_ends])
def test_the_function_is_the_same(build):
    keras.utils.set_random_seed(0)
    model = build()
    for weight in model.weights:
        weight.assign(np.random.default_rng(1).uniform(0.1, 1, weight.shape))
    opened = flatten_model(model)
    assert not any(isinstance(layer, keras.Model) for layer in opened.layers)
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(4, *t.shape[1:])).astype(np.float32) for t in model.inputs]
    x = x[0] if len(x) == 1 else x
    np.testing.assert_allclose(
        opened(x, training=False), model(x, training=False), rtol=1e-4, atol=1e-5
    )
    assert opened.count_params() == model.count_params()


def test_names_say_where_a_layer_was():
    names = [layer.name for layer in flatten_model(two_deep()).layers]
    assert "body.features.conv" in names
    assert "body.conv" in names
    assert "conv_out" in names


def test_a_flat_model_stays_as_it_is():
    model = features()
    assert flatten_model(model) is model


def convolutional(scores, *behind, size=6):
    """A network without dense layers: 5 classes, in one place where images are of 6 by 6 pixels."""
    keras.utils.set_random_seed(0)
    body = [keras.Input((size, size, 1)), L.Conv2D(4, 3, activation="relu"), L.Dropout(0.5)]
    return keras.Sequential([*body, scores, *behind])


def predicted(model, pixels):
    return np.asarray(model(pixels, training=False))


def draw(size=6):
    return np.random.default_rng(0).normal(0, 3, (7, size, size, 1)).astype(np.float32)


#: By what is done with the scores: layers of the scores and behind them.
REACHED = {
    "flattened": lambda: (L.Conv2D(5, 4), L.Softmax(), L.Flatten()),
    "reshaped": lambda: (L.Conv2D(5, 4), L.Activation("softmax"), L.Reshape((5,))),
    "an activation": lambda: (L.Conv2D(5, 4, activation="softmax"), L.Flatten()),
    "without a bias": lambda: (L.Conv2D(5, 4, activation="softmax", use_bias=False), L.Flatten()),
    "turned": lambda: (L.Conv2D(5, 4), L.Softmax(), L.Permute((3, 1, 2)), L.Flatten()),
    "dropped out": lambda: (L.Conv2D(5, 4), L.Softmax(), L.Flatten(), L.Dropout(0.9)),
    "before them": lambda: (L.Conv2D(5, 4), L.Flatten(), L.Softmax()),
    "dense": lambda: (L.Flatten(), L.Dense(5, "softmax"), L.Dropout(0.9)),
    "a model inside": lambda: (
        keras.Sequential([keras.Input((4, 4, 4)), L.Conv2D(5, 4), L.Softmax()]),
        L.Flatten(),
    ),
}


@pytest.mark.parametrize("head", REACHED)
def test_a_softmax_is_left_off_behind_which_values_only_get_other_axes(head):
    model, pixels = convolutional(*REACHED[head]()), draw()
    before = [np.asarray(weight) for weight in model.weights]
    probabilities = predicted(model, pixels)
    scores = predicted(cut_softmax(model), pixels)
    assert scores.shape == probabilities.shape == (7, 5)
    np.testing.assert_allclose(softmax(scores), probabilities, rtol=1e-4, atol=1e-6)
    assert not np.allclose(scores, probabilities, atol=0.05)
    assert check_scores(scores) == []
    # The model itself is as it was.
    np.testing.assert_array_equal(predicted(model, pixels), probabilities)
    for weight, known in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, known)


#: Behind the softmax stands more than other axes of one vector.
NOT_REACHED = {
    "an average over places": lambda: (L.Conv2D(5, 4), L.Softmax(), L.GlobalAveragePooling2D()),
    "an average of two": lambda: (
        L.Conv2D(5, 4, activation="softmax"),
        L.AveragePooling2D(2),
        L.Flatten(),
    ),
}


@pytest.mark.parametrize("head", NOT_REACHED)
def test_what_cannot_be_undone_is_said(head):
    size = 8 if "places" in head else 7
    model, pixels = convolutional(*NOT_REACHED[head](), size=size), draw(size)
    assert cut_softmax(model) is model
    with capture_logs() as told:
        assert check_scores(predicted(model, pixels)) == [FROM_PROBABILITIES]
    assert [line["event"] for line in told] == [FROM_PROBABILITIES]
    assert "\n" not in FROM_PROBABILITIES


def test_softmaxes_of_several_places_are_not_put_together():
    model = convolutional(L.Conv2D(5, 4), L.Softmax(), L.Flatten(), size=7)
    assert model.output_shape == (None, 20)
    assert cut_softmax(model) is model


def test_a_model_that_ends_in_scores_is_left_as_it_is():
    model = convolutional(L.Conv2D(5, 4), L.Flatten())
    assert ClassifierHead.of(model).softmax is None
    assert cut_softmax(model) is model
    assert check_scores(predicted(model, draw())) == []


def test_a_softmax_within_a_recurrent_layer_is_not_the_last_one():
    model = keras.Sequential([keras.Input((4, 3)), L.SimpleRNN(5, activation="softmax")])
    assert cut_softmax(model) is model
