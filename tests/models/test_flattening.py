"""Models inside models, opened."""

import keras
import numpy as np
import pytest

from asterism.models.keras_models.layers import flattened

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
    opened = flattened(model)
    assert not any(isinstance(layer, keras.Model) for layer in opened.layers)
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(4, *t.shape[1:])).astype(np.float32) for t in model.inputs]
    x = x[0] if len(x) == 1 else x
    np.testing.assert_allclose(
        opened(x, training=False), model(x, training=False), rtol=1e-4, atol=1e-5
    )
    assert opened.count_params() == model.count_params()


def test_names_say_where_a_layer_was():
    names = [layer.name for layer in flattened(two_deep()).layers]
    assert "body.features.conv" in names
    assert "body.conv" in names
    assert "conv_out" in names


def test_a_flat_model_stays_as_it_is():
    model = features()
    assert flattened(model) is model
