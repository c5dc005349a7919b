"""Every rule against its twin, on every kind of linear layer."""

from functools import cache

import keras
import lrp_twins as twins
import numpy as np
import pytest
import tensorflow as tf

from asterism.deepimportance.keras_layers import build_network
from asterism.deepimportance.network import LinearOperation, WeightedSum
from asterism.deepimportance.rules import (
    AlphaBetaRule,
    EpsilonRule,
    FlatRule,
    GammaRule,
    RelevanceStep,
    WSquareRule,
    ZBoxRule,
)
from thinning import every

L = keras.layers
LAYERS = {
    "dense": ((7,), lambda: L.Dense(5)),
    "conv_valid": ((6, 6, 2), lambda: L.Conv2D(3, 3)),
    "conv_same_strided": ((6, 5, 2), lambda: L.Conv2D(3, 3, strides=2, padding="same")),
    "conv_dilated": ((7, 7, 1), lambda: L.Conv2D(2, 2, dilation_rate=2)),
    "conv_1d": ((8, 2), lambda: L.Conv1D(3, 3)),
    "conv_causal": ((8, 2), lambda: L.Conv1D(3, 3, dilation_rate=2, padding="causal")),
    "depthwise": ((5, 5, 2), lambda: L.DepthwiseConv2D(3, depth_multiplier=2, padding="same")),
    "pooling": ((6, 6, 2), lambda: L.AveragePooling2D(2)),
    "pooling_same": ((5, 5, 2), lambda: L.AveragePooling2D(3, 2, padding="same")),
    "global_pooling": ((4, 4, 3), lambda: L.GlobalAveragePooling2D()),
}
RULES = {
    "zero": (EpsilonRule(0.0), lambda w, b, x, r: twins.epsilon_rule(w, b, x, r, 0.0)),
    "epsilon": (EpsilonRule(0.1), lambda w, b, x, r: twins.epsilon_rule(w, b, x, r, 0.1)),
    "alpha1_beta0": (
        AlphaBetaRule(1, 0),
        lambda w, b, x, r: twins.alpha_beta_rule(w, b, x, r, 1, 0),
    ),
    "alpha2_beta1": (
        AlphaBetaRule(2, 1),
        lambda w, b, x, r: twins.alpha_beta_rule(w, b, x, r, 2, 1),
    ),
    "alpha3_beta2": (
        AlphaBetaRule(3, 2),
        lambda w, b, x, r: twins.alpha_beta_rule(w, b, x, r, 3, 2),
    ),
    "gamma": (GammaRule(0.25), lambda w, b, x, r: twins.gamma_rule(w, b, x, r, 0.25)),
    "z_box": (ZBoxRule(), lambda w, b, x, r: twins.z_box_rule(w, b, x, r, -1.0, 2.0)),
    "w_square": (WSquareRule(), twins.w_square_rule),
}


@cache
def linear_layer(name):
    shape, layer = LAYERS[name]
    keras.utils.set_random_seed(3)
    model = twins.in_float64(keras.Sequential([keras.Input(shape), layer()]))
    rng = np.random.default_rng(5)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    operation = build_network(model).nodes[-1].operation
    assert isinstance(operation, LinearOperation)
    return model, operation, shape


# Pooling has no weights to square; its composites share in proportion to the input.
CASES = [
    (layer, rule)
    for layer in LAYERS
    for rule in RULES
    if (rule, "pooling" in layer) != ("w_square", True)
]


@cache
def matrix(name):
    model, _, shape = linear_layer(name)
    return twins.matrix_of(model, shape)


@pytest.mark.parametrize(("layer", "rule"), every(3, CASES))
@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_rule_is_its_definition(layer, rule, nonnegative):
    model, operation, shape = linear_layer(layer)
    rng = np.random.default_rng(7)
    x = rng.uniform(0 if nonnegative else -1, 2, (3, *shape))
    relevance = rng.normal(size=(3, *model.output_shape[1:]))
    box = (tf.fill((1, *shape), np.float64(-1)), tf.fill((1, *shape), np.float64(2)))
    at = RelevanceStep(operation, tf.constant(x), tf.constant(relevance), nonnegative, box)
    fast = RULES[rule][0].share(at).numpy()
    for i in range(len(x)):
        slow = RULES[rule][1](*matrix(layer), x[i].ravel(), relevance[i].ravel())
        np.testing.assert_allclose(fast[i].ravel(), slow, rtol=1e-7, atol=1e-9)


def test_the_flat_rule_counts_what_an_output_sees():
    model, operation, shape = linear_layer("conv_same_strided")
    counting = twins.in_float64(model)
    for weight in counting.weights:
        weight.assign(np.full(weight.shape, float(weight.name == "kernel")))
    seen, none = twins.matrix_of(counting, shape)
    rng = np.random.default_rng(1)
    x, r = rng.normal(size=(1, *shape)), rng.normal(size=(1, *model.output_shape[1:]))
    fast = FlatRule().share(RelevanceStep(operation, tf.constant(x), tf.constant(r), False)).numpy()
    slow = twins.flat_rule(seen, none, x.ravel(), r.ravel())
    np.testing.assert_allclose(fast.ravel(), slow, rtol=1e-7)


@pytest.mark.parametrize("layer", LAYERS)
def test_operations_compute_what_the_layer_does(layer):
    model, operation, shape = linear_layer(layer)
    x = np.random.default_rng(2).normal(size=(4, *shape))
    np.testing.assert_allclose(operation.forward(tf.constant(x)), model(x), rtol=1e-9, atol=1e-12)


def test_impossible_settings_are_rejected():
    with pytest.raises(ValueError, match="must be 1"):
        AlphaBetaRule(2, 2)
    _, operation, shape = linear_layer("dense")
    x = tf.ones((1, *shape))
    with pytest.raises(ValueError, match="network's input"):
        ZBoxRule().share(RelevanceStep(operation, x, tf.ones((1, 5)), True))


@pytest.mark.parametrize("count", [2, 3])
def test_a_mean_of_tensors_is_a_sum_with_equal_weights(count):
    keras.utils.set_random_seed(0)
    start = keras.Input((4,))
    parts = [L.Dense(3)(start) for _ in range(count)]
    model = keras.Model(start, L.Average()(parts))
    network = build_network(model)
    (mean,) = [n.operation for n in network.nodes if isinstance(n.operation, WeightedSum)]
    assert mean == WeightedSum((1 / count,) * count)
