"""A network without some filters computes what the whole one computes with them silenced."""

import keras
import numpy as np
import pytest

from asterism.compression.methods.pruning import find_removable_convolutions, remove_filters
from asterism.models.architectures import ARCHITECTURES

SHAPE = (16, 16, 1)


def disturbed(name):
    """An untrained network whose biases and normalisations are not what they begin as."""
    keras.utils.set_random_seed(0)
    build = BUILT_HERE[name] if name in BUILT_HERE else ARCHITECTURES[name]
    model = build(SHAPE, 5)
    rng = np.random.default_rng(0)
    for layer in model.layers:
        layer.set_weights(
            [w + rng.uniform(0.05, 0.2, w.shape) if w.ndim == 1 else w for w in layer.get_weights()]
        )
    return model


def silence(model, gone):
    """Zero the filters, their biases and what a normalisation would make of them."""
    for name, filters in gone.items():
        layer = model.get_layer(name)
        weights = layer.get_weights()
        for values in weights:
            values[..., filters] = 0
        layer.set_weights(weights)
        for other in model.layers:
            if isinstance(other, keras.layers.BatchNormalization) and (
                other.input._keras_history.operation is layer
            ):
                gamma, beta, mean, variance = other.get_weights()
                gamma[filters] = beta[filters] = 0
                other.set_weights([gamma, beta, mean, variance])


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("plainnet20", "vgg16")]


def pooled_then_flat(shape, classes):
    """Flattening what a global pooling left one value a channel of."""
    x = inputs = keras.Input(shape)
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(6, 3, activation="relu")(x))
    last = keras.layers.Dense(classes, name="before_softmax")
    return keras.Model(inputs, last(keras.layers.Flatten()(x)))


def with_operations(shape, classes):
    """Operations that are no layers: before, in place of and between layers."""
    inputs = keras.Input(shape)
    x = first = keras.layers.Conv2D(6, 3, padding="same")(inputs * 2 - 1)
    x = keras.layers.ReLU()(keras.layers.Conv2D(6, 3, padding="same", name="inner")(x))
    x = first + keras.layers.Conv2D(6, 3, padding="same")(x)
    x = keras.layers.Conv2D(4, 3, strides=2, name="last")(keras.ops.relu(x))
    last = keras.layers.Dense(classes, name="before_softmax")
    return keras.Model(inputs, last(keras.layers.Flatten()(x)))


BUILT_HERE = {"pooled_then_flat": pooled_then_flat, "with_operations": with_operations}


@pytest.mark.parametrize("name", ["lenet5", "plain_cnn", "resnet20", *BUILT_HERE, *SLOW])
def test_a_cut_network_is_the_silenced_one(name):
    model = disturbed(name)
    rng = np.random.default_rng(1)
    gone = {
        layer.name: np.sort(rng.choice(layer.filters, layer.filters // 3, replace=False))
        for layer in find_removable_convolutions(model)
    }
    kept = {
        name: np.setdiff1d(np.arange(model.get_layer(name).filters), filters)
        for name, filters in gone.items()
    }
    cut = remove_filters(model, kept)
    assert cut.count_params() < model.count_params()
    for name, filters in kept.items():
        assert cut.get_layer(name).filters == len(filters)
    images = rng.random((4, *SHAPE), dtype=np.float32)
    silence(model, gone)
    expected, given = (
        keras.Model(m.inputs, m.get_layer("before_softmax").output).predict(images, verbose=0)
        for m in (model, cut)
    )
    assert np.ptp(expected, axis=0).max() > 1e-4  # the images are told apart at all
    assert np.allclose(given, expected, rtol=1e-4, atol=1e-5)


def test_a_sequential_network_is_cut_like_a_graph_of_layers():
    model = disturbed("lenet1")
    rows = keras.Sequential([keras.Input(SHAPE), *map(copied, model.layers[1:])])
    rows.set_weights(model.get_weights())
    kept = {layer.name: np.arange(1, layer.filters) for layer in find_removable_convolutions(model)}
    assert [layer.name for layer in find_removable_convolutions(rows)] == list(kept)
    weights = [remove_filters(m, kept).get_weights() for m in (model, rows)]
    assert all(np.array_equal(a, b) for a, b in zip(*weights, strict=True))
    assert sum(w.size for w in weights[1]) < model.count_params()


def copied(layer):
    return type(layer).from_config(layer.get_config())


def test_keeping_every_filter_changes_nothing():
    model = disturbed("lenet1")
    same = remove_filters(model, {})
    for a, b in zip(model.get_weights(), same.get_weights(), strict=True):
        assert np.array_equal(a, b)


def test_what_a_residual_addition_needs_stays_whole():
    model = ARCHITECTURES["resnet20"](SHAPE, 5)
    convolutions = [la for la in model.layers if isinstance(la, keras.layers.Conv2D)]
    # Of nine blocks only the first convolution; not the second, no shortcut, not the network's
    # first.
    assert len(find_removable_convolutions(model)) == 9
    assert len(convolutions) == 1 + 9 * 2 + 2
    assert len(find_removable_convolutions(ARCHITECTURES["plainnet20"](SHAPE, 5))) == 19


def test_what_operations_listen_to_stays_whole():
    assert [la.name for la in find_removable_convolutions(with_operations(SHAPE, 5))] == [
        "inner",
        "last",
    ]


def test_what_a_layer_hears_that_is_called_twice_stays_whole():
    inputs = keras.Input(SHAPE)
    twice = keras.layers.Conv2D(4, 3, name="twice")
    branches = [keras.layers.Conv2D(6, 3, name=n)(inputs) for n in ("left", "right")]
    both = keras.layers.Concatenate()([twice(branch) for branch in branches])
    last = keras.layers.Conv2D(4, 3, name="last")(both)
    model = keras.Model(inputs, keras.layers.Dense(3)(keras.layers.Flatten()(last)))
    assert [layer.name for layer in find_removable_convolutions(model)] == ["last"]
    assert remove_filters(model, {"last": np.arange(3)}).output_shape == model.output_shape


def test_an_output_stays_whole():
    inputs = keras.Input(SHAPE)
    first = keras.layers.Conv2D(4, 3, name="first")(inputs)
    last = keras.layers.ReLU()(keras.layers.Conv2D(3, 3, name="last")(first))
    model = keras.Model(inputs, last)
    assert [layer.name for layer in find_removable_convolutions(model)] == ["first"]
