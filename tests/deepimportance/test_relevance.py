"""Relevance through whole networks: conservation, gradients, zennit, and what is rejected."""

import importlib
import sys
import types

import keras
import lrp_twins
import numpy as np
import pytest
import tensorflow as tf

from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import COMPOSITES, RuleSettings
from asterism.deepimportance.judged_keras import JudgedKeras, Propagator
from asterism.deepimportance.keras_layers import build_network
from asterism.deepimportance.network import LinearOperation
from thinning import every

L = keras.layers


def randomised(model, seed=0, bias=0.3):
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        value = rng.normal(size=weight.shape) * 0.4
        if "variance" in weight.path:
            value = rng.uniform(0.5, 2, weight.shape)
        elif "bias" in weight.path or "beta" in weight.path or "moving_mean" in weight.path:
            value = bias * value
        elif "gamma" in weight.path:
            value = rng.uniform(0.5, 1.5, weight.shape)
        weight.assign(value)
    return model


def lenet(use_bias=True):
    return keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            L.Conv2D(4, 3, activation="relu", use_bias=use_bias),
            L.MaxPooling2D(name="pool"),
            L.Conv2D(6, 3, activation="relu", padding="same", use_bias=use_bias),
            L.Flatten(),
            L.Dense(16, activation="relu", use_bias=use_bias, name="hidden"),
            L.Dense(5, activation="softmax", use_bias=use_bias),
        ]
    )


def residual():
    inputs = x = keras.Input((10, 10, 2))
    x = L.Rescaling(2.0)(x)
    x = L.ZeroPadding2D(1)(x)
    x = L.Conv2D(4, 3, name="stem")(x)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    y = L.Conv2D(4, 3, padding="same", use_bias=False)(x)
    y = L.BatchNormalization()(y)
    y = L.Activation("relu")(y)
    x = L.Add()([x, y])
    x = L.SeparableConv2D(5, 3, activation="relu")(x)
    a, b = L.AveragePooling2D(2)(x), L.MaxPooling2D(2)(x)
    x = L.Concatenate()([a, b])
    x = L.Dropout(0.5)(x)
    x = L.BatchNormalization(name="unfoldable")(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(3)(x)
    return keras.Model(inputs, L.Softmax()(x))


def nested():
    inner = keras.Sequential(
        [keras.Input((6, 6, 3)), L.Conv2D(4, 3, activation="relu"), L.Flatten()]
    )
    inputs = keras.Input((6, 6, 3))
    return keras.Model(inputs, L.Dense(4)(inner(inputs)))


def attending():
    """Attention to other values and to earlier steps alone, a gate, and constants."""
    inputs = keras.Input((7, 6))
    x = L.LayerNormalization(axis=[1, 2])(inputs + np.ones((7, 6), "float32"))
    x = L.MultiHeadAttention(2, 3, value_dim=5)(x, L.Dense(4)(x), use_causal_mask=True)
    x = L.Multiply()([2.0 - x * 0.5, L.Dense(6, "sigmoid")(x)])
    _, last, _ = L.LSTM(5, return_state=True)(L.EinsumDense("ntf,fg->ntg", (None, 5))(x))
    return keras.Model(inputs, L.Dense(4)(last))


@pytest.mark.parametrize("build", [lenet, residual, nested, attending])
def test_the_network_computes_what_the_model_does(build):
    model = randomised(build())
    x = np.random.default_rng(0).normal(size=(5, *model.input_shape[1:])).astype(np.float32)
    network = build_network(model)
    np.testing.assert_allclose(
        network.values(tf.constant(x))[-1], model(x, training=False), rtol=1e-3, atol=1e-4
    )


def sequential(shape, *layers):
    return randomised(keras.Sequential([keras.Input(shape), *layers]))


def folded_behind_pooling():
    return sequential(
        (8, 8, 2),
        L.ReLU(),
        L.AveragePooling2D(2),
        L.BatchNormalization(),
        L.Conv2D(3, 2),
        L.Flatten(),
    )


def folded_behind_global_pooling():
    return sequential(
        (6, 6, 3), L.ReLU(), L.GlobalAveragePooling2D(), L.BatchNormalization(), L.Dense(4)
    )


def leaky():
    return sequential((6,), L.Dense(8), L.ReLU(negative_slope=0.5), L.Dense(3))


def causal():
    return sequential(
        (9, 2), L.Conv1D(4, 3, dilation_rate=2, padding="causal"), L.ReLU(), L.Flatten(), L.Dense(2)
    )


@pytest.mark.parametrize(
    "build", [residual, folded_behind_pooling, folded_behind_global_pooling, leaky, causal]
)
def test_what_is_said_to_have_no_negative_value_has_none(build):
    model = randomised(build(), seed=1, bias=3)
    network = build_network(model)
    x = tf.constant(np.random.default_rng(0).uniform(0, 1, (50, *model.input_shape[1:])))
    values = network.values(x)
    np.testing.assert_allclose(values[-1], model(x, training=False), rtol=1e-3, atol=1e-4)
    for node, value in zip(network.nodes, values, strict=True):
        assert not node.nonnegative or np.min(value) >= 0


@pytest.mark.parametrize(("build", "layer"), [(folded_behind_pooling, -2), (leaky, -1)])
def test_layers_behind_negative_values_share_as_their_rules_say(build, layer):
    """The short cut for inputs without negative values would give other shares."""
    model = build()
    *body, last = lrp_twins.in_float64(model).layers[: layer + 1 or None]
    x = np.random.default_rng(0).normal(size=(5, *model.input_shape[1:]))
    value = keras.Sequential([keras.Input(x.shape[1:], dtype="float64"), *body])(x).numpy()
    assert value.min() < 0
    w, b = lrp_twins.matrix_of(last, value.shape[1:])
    z = last(value).numpy().reshape(len(x), -1)
    r = z * (np.arange(z.shape[1]) == z.argmax(axis=1)[:, None])
    for composite, twin in (
        ("alpha_beta", lambda *facts: lrp_twins.alpha_beta_rule(*facts, 3, 2)),
        ("gamma", lambda *facts: lrp_twins.gamma_rule(*facts, 0.25)),
    ):
        rules = COMPOSITES[composite](RuleSettings())
        found = Propagator(model, rules, model.layers[layer - 1].name, dtype="float64")(x)[1]
        for i in range(len(x)):
            slow = twin(w, b, value[i].ravel(), r[i])
            np.testing.assert_allclose(found[i].ravel(), slow, rtol=1e-5, atol=1e-6)


def test_batch_normalisation_is_folded_where_it_can_be():
    kinds = [type(node.operation).__name__ for node in build_network(residual()).nodes[1:]]
    # rescaling, relus, unfoldable, softmax
    assert kinds.count("ElementwiseOperation") == 1 + 2 + 1 + 1 + 1
    network = build_network(residual())
    assert isinstance(network.nodes[network.outputs_of["stem"]].operation, LinearOperation)


def read_twice():
    """A convolution of which batch normalisation is one of two readers."""
    x = L.Conv2D(3, 3, padding="same", name="shared")(inputs := keras.Input((5, 5, 2)))
    y = L.BatchNormalization(name="normalised")(x)
    return keras.Model(inputs, L.Dense(3)(L.Flatten()(L.Add(name="both")([x, y]))))


def test_batch_normalisation_stays_where_the_convolution_has_another_reader():
    model = randomised(read_twice(), seed=8)
    network = build_network(model)
    x = np.random.default_rng(0).normal(size=(4, 5, 5, 2)).astype(np.float32)
    values = network.values(tf.constant(x))
    for layer in ("shared", "normalised", "both"):
        inside = keras.Model(model.inputs[0], model.get_layer(layer).output)
        found = values[network.outputs_of[layer]]
        np.testing.assert_allclose(found, inside(x, training=False), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values[-1], model(x, training=False), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "composite", ["zero", "epsilon", "alpha_beta", "gamma", "epsilon_plus_box"]
)
def test_relevance_is_conserved_without_biases(composite):
    model = randomised(lenet(use_bias=False), seed=3)
    x = np.random.default_rng(1).uniform(0.1, 1, (20, 12, 12, 1))
    settings = RuleSettings(epsilon=0.0)
    for layer in ("hidden", "pool", None):
        scores, relevance = Propagator(
            model, COMPOSITES[composite](settings), layer, dtype="float64"
        )(x)
        # A neuron without any opposing input cannot pass β's part on: αβ keeps the sum otherwise.
        np.testing.assert_allclose(
            relevance.sum(axis=tuple(range(1, relevance.ndim))), scores.max(axis=1), rtol=1e-4
        )


def parts():
    """Every kind of layer that shares relevance, without biases."""
    inputs = x = keras.Input((10, 10, 2))
    x = L.ZeroPadding2D(1)(x)
    x = L.Conv2D(4, 3, use_bias=False)(x)
    x = L.BatchNormalization(center=False, name="folded")(x)
    x = L.ReLU()(x)
    y = L.SeparableConv2D(4, 3, padding="same", use_bias=False)(x)
    x = L.Add(name="sum")([x, L.ReLU()(y)])
    x = L.Concatenate(name="joined")([L.AveragePooling2D(2)(x), L.MaxPooling2D(2)(x)])
    x = L.DepthwiseConv2D(2, use_bias=False, activation="relu")(x)
    x = L.GlobalAveragePooling2D(name="global")(x)
    model = randomised(keras.Model(inputs, L.Dense(4, use_bias=False)(x)), seed=5)
    folded = model.get_layer("folded")
    folded.moving_mean.assign(np.zeros(4))  # no shift, which would keep its part as a bias does
    return model


@pytest.mark.parametrize("layer", ["global", "joined", "sum", "folded", None])
def test_relevance_is_conserved_by_every_kind_of_layer(layer):
    model = parts()
    x = np.random.default_rng(1).uniform(0.1, 1, (8, 10, 10, 2))
    composite = COMPOSITES["zero"](RuleSettings())
    scores, relevance = Propagator(model, composite, layer, dtype="float64")(x)
    total = relevance.sum(axis=tuple(range(1, relevance.ndim)))
    np.testing.assert_allclose(total, scores.max(axis=1), rtol=1e-4)


def test_feature_maps_are_summed_over_their_places():
    model = randomised(lenet(), seed=4)
    x = np.random.default_rng(2).uniform(0, 1, (6, 12, 12, 1))
    p = Propagator(model, COMPOSITES["epsilon_plus"](RuleSettings()), "pool", dtype="float64")
    everywhere, summed = p(x)[1], p.per_neuron(x)[1]
    assert summed.shape == (6, 4)
    for image in range(6):
        for neuron in range(4):
            slow = sum(everywhere[image, i, j, neuron] for i in range(5) for j in range(5))
            assert summed[image, neuron] == pytest.approx(slow)


@pytest.mark.parametrize("composite", ["epsilon_plus_box", "epsilon_plus_flat", "wsquare"])
def test_the_input_rule_is_that_of_the_first_weights_behind_pooling(composite):
    model = sequential((8, 8, 1), L.AveragePooling2D(2), L.Conv2D(3, 3), L.Flatten(), L.Dense(2))
    bare = keras.Sequential([keras.Input((4, 4, 1)), *model.layers[1:]])
    x = np.random.default_rng(0).uniform(0.1, 1, (5, 8, 8, 1))
    pooled = x.reshape(5, 4, 2, 4, 2, 1).mean(axis=(2, 4))
    rules = COMPOSITES[composite](RuleSettings())
    _, expected = Propagator(bare, rules, dtype="float64")(pooled)
    _, found = Propagator(model, rules, dtype="float64")(x)
    np.testing.assert_allclose(
        found.reshape(5, 4, 2, 4, 2, 1).sum(axis=(2, 4)), expected, rtol=1e-4, atol=1e-8
    )


@pytest.mark.parametrize("layer", ["hidden", "pool", None])
def test_lrp_0_is_activation_times_gradient(layer):
    """The gradient is Keras' own, of the largest score before the softmax."""
    model = randomised(lenet(), seed=4)
    x = np.random.default_rng(2).uniform(0, 1, (6, 12, 12, 1))
    double = lrp_twins.in_float64(model)
    double.layers[-1].activation = keras.activations.linear
    value = tf.constant(x)
    names = [each.name for each in double.layers]
    start = 0 if layer is None else names.index(layer) + 1
    for each in double.layers[:start]:
        value = each(value)
    with tf.GradientTape() as tape:
        tape.watch(value)
        score = value
        for each in double.layers[start:]:
            score = each(score)
        top = tf.reduce_max(score, axis=1)
    expected = value * tape.gradient(top, value)
    p = Propagator(model, COMPOSITES["zero"](RuleSettings()), layer, dtype="float64")
    np.testing.assert_allclose(p(x)[0].max(axis=1), top, rtol=1e-9)
    np.testing.assert_allclose(p(x)[1], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("build", "composite"),
    [
        *((build, "epsilon_plus_box") for build in (lenet, nested)),
        *every(3, [(residual, name) for name in COMPOSITES.names()]),
    ],
)
def test_every_composite_crosses_every_network_alone_and_in_batches(build, composite):
    model = randomised(build())
    x = np.random.default_rng(3).uniform(0, 1, (7, *model.input_shape[1:]))
    p = Propagator(model, COMPOSITES[composite](RuleSettings()), dtype="float64")
    _, whole = p(x)
    assert whole.shape == x.shape
    assert np.isfinite(whole).all()
    assert np.abs(whole).max() > 0
    np.testing.assert_allclose(p(x[2:3])[1][0], whole[2], rtol=1e-9, atol=1e-12)


def test_a_chosen_output_is_explained_instead_of_the_winner():
    model = randomised(lenet(), seed=4)
    x = np.random.default_rng(2).uniform(0, 1, (3, 12, 12, 1))
    p = Propagator(model, COMPOSITES["zero"](RuleSettings()), "hidden", dtype="float64")
    chosen = np.array([4, 0, 2])
    scores, relevance = p(x, chosen)
    kept = np.asarray(model.layers[-1].bias)[chosen]
    np.testing.assert_allclose(relevance.sum(axis=1) + kept, scores[np.arange(3), chosen])


@pytest.fixture
def zennit(monkeypatch):
    """zennit, beside a torchvision that may not fit the installed torch; it is not used here."""
    for name in ("torchvision", "torchvision.models", "torchvision.models.resnet"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    blocks = sys.modules["torchvision.models.resnet"]
    blocks.Bottleneck = blocks.BasicBlock = object
    for module in ("zennit.attribution", "zennit.composites", "zennit.rules", "zennit.types"):
        importlib.import_module(module)
    return importlib.import_module("zennit")


@pytest.mark.parametrize(
    ("composite", "make"),
    [
        ("epsilon", lambda z: z.composites.EpsilonGammaBox(-1.0, 2.0)),
        ("epsilon_gamma_box", lambda z: z.composites.EpsilonGammaBox(-1.0, 2.0)),
        ("epsilon_plus", lambda z: z.composites.EpsilonPlus()),
        ("epsilon_plus_flat", lambda z: z.composites.EpsilonPlusFlat()),
        ("epsilon_alpha_beta", lambda z: z.composites.EpsilonAlpha2Beta1()),
    ],
)
def test_zennit_finds_the_same(composite, make, zennit):
    import torch

    model = randomised(lenet(), seed=6)
    conv1, conv2, hidden, last = (x for x in model.layers if x.weights)
    rows = np.arange(5 * 5 * 6).reshape(5, 5, 6).transpose(2, 0, 1).ravel()
    weights = [np.asarray(conv1.kernel), np.asarray(conv2.kernel)]
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 6, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(150, 16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 5),
    ).double()
    state = [
        weights[0].transpose(3, 2, 0, 1),
        conv1.bias,
        weights[1].transpose(3, 2, 0, 1),
        conv2.bias,
        np.asarray(hidden.kernel)[rows].T,
        hidden.bias,
        np.asarray(last.kernel).T,
        last.bias,
    ]
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), state, strict=True):
            parameter.copy_(torch.tensor(np.array(value, np.float64)))
    x = np.random.default_rng(5).uniform(-1, 2, (4, 12, 12, 1))
    ours = make(zennit)
    if composite == "epsilon":
        ours = zennit.composites.LayerMapComposite(
            [*zennit.composites.layer_map_base(), (zennit.types.Linear, zennit.rules.Epsilon(1e-6))]
        )

    def seed(output):
        return output * torch.nn.functional.one_hot(output.argmax(1), 5)

    with zennit.attribution.Gradient(model=net, composite=ours) as attributor:
        _, theirs = attributor(torch.tensor(x.transpose(0, 3, 1, 2)), seed)
    settings = RuleSettings(alpha=2.0, beta=1.0, gamma=0.25)
    p = Propagator(model, COMPOSITES[composite](settings), low=-1.0, high=2.0, dtype="float64")
    mine = p(x)[1].transpose(0, 3, 1, 2)
    np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-6, atol=1e-9)


def test_float32_is_close_to_float64():
    model = randomised(lenet(), seed=6)
    x = np.random.default_rng(5).uniform(0, 1, (8, 12, 12, 1))
    composite = COMPOSITES["epsilon_plus"](RuleSettings())
    single, double = (Propagator(model, composite, dtype=d)(x)[1] for d in ("float32", "float64"))
    np.testing.assert_allclose(single, double, atol=1e-3 * np.abs(double).max())


def test_an_unsupported_layer_is_named_with_what_is_supported():
    model = keras.Sequential([keras.Input((4, 3)), L.LSTM(5, name="memory"), L.Dense(2)])
    with pytest.raises(UserError, match=r"'memory' .*LSTM .*Conv2D.*Dense"):
        Propagator(model, COMPOSITES["zero"](RuleSettings()))


@pytest.mark.parametrize(
    ("join", "message"),
    [
        (lambda x: L.Add()([x, L.GlobalMaxPooling2D(keepdims=True)(x)]), "stretches one of its"),
        (lambda x: L.Subtract()([x, L.MaxPooling2D((4, 1))(x)]), "stretches one of its"),
        (lambda x: L.MaxPooling2D((4, 1))(x) + np.ones((4, 4, 2)), "stretches one of its"),
        (lambda x: keras.ops.average(x, axis=1), "averages one tensor"),
        (lambda x: keras.ops.multiply(x, x), "multiplies, but not"),
    ],
)
def test_sums_that_are_no_sums_of_tensors_are_named(join, message):
    inputs = keras.Input((4, 4, 2))
    x = join(L.MaxPooling2D(1)(inputs))
    model = keras.Model(inputs, L.Dense(2)(L.Flatten()(x)))
    with pytest.raises(UserError, match=rf"the layer '\w+' that {message} .*supported: .*Dense"):
        Propagator(model, COMPOSITES["zero"](RuleSettings()))


def test_a_constant_keeps_its_part_of_relevance():
    """By LRP-0, an input's share of a score that is linear in it is that times the gradient."""
    inputs = x = keras.Input((4,))
    for step in (lambda y: y + np.full(3, 2.0, "float32"), lambda y: 1.0 - y, lambda y: y * 0.5):
        x = step(L.Dense(3, use_bias=False)(x))
    model = randomised(keras.Model(inputs, x))
    x = np.random.default_rng(0).normal(size=(5, 4))
    scores, relevance = Propagator(model, COMPOSITES["zero"](RuleSettings()), dtype="float64")(x)
    np.testing.assert_allclose(scores, model.predict(x, verbose=0), rtol=1e-4)
    matrix = np.diag([-0.5] * 3)
    for layer in reversed([layer for layer in model.layers if layer.weights]):
        matrix = np.asarray(layer.kernel, np.float64) @ matrix
    np.testing.assert_allclose(relevance, x * matrix.T[scores.argmax(1)], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "behind",
    [
        lambda: (L.Softmax(), L.Flatten(), L.Dropout(0.5)),
        lambda: (L.Activation("softmax"), L.Permute((3, 1, 2)), L.Reshape((5,))),
    ],
)
def test_relevance_starts_before_a_softmax_that_is_given_other_axes(behind):
    body = [keras.Input((6, 6, 1)), L.Conv2D(4, 3, activation="relu"), L.Conv2D(5, 4)]
    plain = randomised(keras.Sequential([*body, L.Flatten(), L.Softmax()]))
    model = keras.Sequential([*body, *behind()])
    x = np.random.default_rng(0).random((4, 6, 6, 1))
    composite = COMPOSITES["epsilon_plus"](RuleSettings(1e-6, 2.0, 1.0, 0.25))
    expected, found = (Propagator(m, composite, dtype="float64")(x) for m in (plain, model))
    for mine, known in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-9)
    assert not np.allclose(found[0].sum(axis=1), 1)
    hidden = [JudgedKeras(one, None).hidden_layers() for one in (model, plain)]
    assert hidden == [[body[1].name]] * 2


@pytest.mark.parametrize("layer", ["output", "unknown"])
def test_relevance_starts_at_the_scores_and_goes_back(layer):
    model = keras.Sequential(
        [keras.Input((3,)), L.Dense(2, name="hidden"), L.Dense(2, "softmax", name="output")]
    )
    with pytest.raises(UserError, match=rf"{layer}.*the layers before them \(hidden\)"):
        Propagator(model, COMPOSITES["zero"](RuleSettings()), layer)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: L.UpSampling2D(interpolation="bilinear"), "only nearest"),
        (lambda: L.BatchNormalization(axis=1), "normalises axis 1"),
        (lambda: L.Normalization(None, 0.5, 4.0, invert=True), "inverts a normalisation"),
    ],
)
def test_unsupported_settings_are_named(layer, message):
    model = keras.Sequential([keras.Input((4, 4, 2)), layer(), L.Flatten(), L.Dense(2)])
    with pytest.raises(UserError, match=message):
        Propagator(model, COMPOSITES["zero"](RuleSettings()))
