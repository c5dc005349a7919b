"""Models of Keras on tables, sequences and tokens are judged as those of PyTorch are."""

import keras
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import asterism
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import COMPOSITES, RuleSettings
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.judged_torch import JudgedTorch
from asterism.models.images_and_scores import PreprocessingParams
from thinning import every

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
RNG = np.random.default_rng(0)
TOKENS = RNG.integers(0, 50, (120, 9))
PLACES = RNG.normal(size=(9, 16)).astype(np.float32)
L = keras.layers


def transformer(places=PLACES, use_bias=True):
    """A classifier of tokens with one block of an encoder."""
    tokens = keras.Input((9,), dtype="int32")
    x = L.Embedding(50, 16, name="embedding")(tokens)
    x = x if places is None else x + places
    attend = L.MultiHeadAttention(4, 4, use_bias=use_bias, name="attention")
    x = L.LayerNormalization(name="norm1", center=use_bias)(L.Add()([x, attend(x, x)]))
    y = L.Dense(24, "relu", use_bias=use_bias, name="wide")(x)
    y = L.Dense(16, use_bias=use_bias, name="narrow")(y)
    x = L.LayerNormalization(name="norm2", center=use_bias)(L.Add()([x, y]))
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, L.Dense(3, use_bias=use_bias, name="out")(x))


class Twin(nn.Module):
    """The same in PyTorch."""

    def __init__(self):
        super().__init__()
        self.embedding, self.places = nn.Embedding(50, 16), nn.Parameter(torch.tensor(PLACES))
        self.query, self.key, self.value, self.attention = (nn.Linear(16, 16) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(16, eps=1e-3), nn.LayerNorm(16, eps=1e-3)
        self.wide, self.narrow, self.out = nn.Linear(16, 24), nn.Linear(24, 16), nn.Linear(16, 3)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.places
        heads = [
            part(x).unflatten(2, (4, 4)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        joined = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.attention(joined))
        x = self.norm2(x + self.narrow(torch.relu(self.wide(x))))
        return self.out(x.mean(1))


def randomised(model):
    """A model with weights that are the same for each test, whichever ran before."""
    rng = np.random.default_rng(5)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape) * 0.5 + ("gamma" in weight.path))
    return model


def twins():
    """The transformer in Keras, and in PyTorch with the same weights."""
    model, net = randomised(transformer()), Twin()
    attend = model.get_layer("attention")
    linear = {
        **{part: getattr(attend, f"{part}_dense") for part in ("query", "key", "value")},
        "attention": attend.output_dense,
        **{name: model.get_layer(name) for name in ("wide", "narrow", "out")},
    }
    state = {"places": PLACES, "embedding.weight": model.get_layer("embedding").embeddings}
    for name, layer in linear.items():
        bias = np.ravel(layer.bias)
        inputs = np.size(layer.kernel) // len(bias)
        state |= {f"{name}.weight": np.reshape(layer.kernel, (inputs, -1)).T, f"{name}.bias": bias}
    for name in ("norm1", "norm2"):
        layer = model.get_layer(name)
        state |= {f"{name}.weight": layer.gamma, f"{name}.bias": layer.beta}
    net.load_state_dict({name: torch.tensor(np.array(value)) for name, value in state.items()})
    return model, net.eval()


@pytest.mark.parametrize(
    ("composite", "ours", "theirs"),
    every(
        3,
        [
            (name, *layer)
            for name in ("epsilon", "alpha_beta", "gamma", "wsquare")
            for layer in [
                ("embedding", "embedding"), ("attention", "attention"), ("norm1", "norm1"),
                ("wide", "relu"),
            ]
        ],
    ),
)  # fmt: skip
def test_relevance_of_a_transformer_is_that_of_pytorch_on_the_same_weights(composite, ours, theirs):
    model, net = twins()
    rules = COMPOSITES[composite](RuleSettings())
    scores, relevance = JudgedTorch(net, TOKENS, UNIT).explainer(theirs, rules)(TOKENS)
    same, found = JudgedKeras(model, UNIT, TOKENS).explainer(ours, rules)(TOKENS)
    np.testing.assert_allclose(same, scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found, relevance, rtol=0, atol=2e-5 * np.abs(relevance).max())


def test_tokens_are_judged_as_pytorch_judges_them(tmp_path):
    model, net = twins()
    labels = model.predict(TOKENS, verbose=0).argmax(1)
    few = ["importance.neurons=[2,3]"]
    wanted, found = (
        asterism.judge_tests(one, TOKENS[:80], TOKENS[80:], labels[:80], overrides=few)
        for one in (net, model)
    )
    assert (wanted.layer, found.layer) == ("relu", "wide")
    ranked, same = (one._fitted.relevance.ranking().tolist() for one in (wanted, found))
    assert same == ranked
    assert found.combinations == wanted.combinations
    assert found.values == pytest.approx(wanted.values, abs=1e-5)
    assert 0 < found.values["idc_3"] < 1
    assert found.subset["idc_3"].tolist() == wanted.subset["idc_3"].tolist()
    assert found.verdict in found.page(tmp_path / "page.html").read_text("utf-8")


def test_tables_are_judged_as_pytorch_judges_them():
    model = keras.Sequential([keras.Input((5,)), L.Dense(12, "tanh", name="hidden"), L.Dense(4)])
    hidden, last = randomised(model).layers
    net = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4))
    with torch.no_grad():
        for theirs, ours in ((net[0], hidden), (net[2], last)):
            theirs.weight.copy_(torch.tensor(np.array(ours.kernel).T))
            theirs.bias.copy_(torch.tensor(np.array(ours.bias)))
    rows = np.random.default_rng(1).normal(size=(120, 5)).astype(np.float32)
    labels = model.predict(rows, verbose=0).argmax(1)
    wanted, found = (
        asterism.judge_tests(
            one, rows[:80], rows[80:], labels[:80], overrides=["importance.neurons=[2,3]"]
        )
        for one in (net, model)
    )
    assert (wanted.layer, found.layer) == ("1", "hidden")
    assert found.combinations == wanted.combinations
    assert found.values == pytest.approx(wanted.values, abs=1e-5)


def test_relevance_of_a_transformer_is_neither_made_nor_lost():
    """It adds up to the score where no bias keeps any, at each cut through the network."""
    judged = JudgedKeras(randomised(transformer(None, use_bias=False)), UNIT, TOKENS)
    rules = COMPOSITES["epsilon"](RuleSettings(epsilon=1e-9))
    for layer in ("embedding", "norm1", "norm2"):
        scores, relevance = judged.explainer(layer, rules)(TOKENS)
        np.testing.assert_allclose(relevance.sum(1), scores.max(1), rtol=1e-3, atol=1e-4)


class Places(L.Layer):
    """Tokens with their places, as users write it."""

    def build(self, shape):
        self.tokens, self.places = L.Embedding(50, 8), L.Embedding(shape[1], 8)
        self.tokens.build()
        self.places.build()

    def call(self, tokens):
        return self.tokens(tokens) + self.places(keras.ops.arange(tokens.shape[1]))


@pytest.mark.parametrize(
    ("shape", "layers", "found_layer"),
    every(
        2,
        [
            (
                (20, 3),
                [L.Conv1D(8, 3, activation="relu", name="conv"), L.GlobalMaxPooling1D()],
                "conv",
            ),
            ((9,), [Places(), L.Dense(6, "gelu", name="hidden"), L.GlobalMaxPooling1D()], "hidden"),
            ((20, 3), [L.LSTM(6), L.Dense(5, "relu", name="hidden")], "hidden"),
        ],
    ),
)
def test_sequences_and_what_stands_behind_other_layers_are_judged(shape, layers, found_layer):
    copies = [type(layer).from_config(layer.get_config()) for layer in layers]
    model = randomised(keras.Sequential([keras.Input(shape), *copies, L.Dense(3)]))
    rng = np.random.default_rng(2)
    items = rng.normal(size=(80, *shape)).astype(np.float32) if len(shape) > 1 else TOKENS[:80]
    labels = model.predict(items, verbose=0).argmax(1)
    few = ["importance.neurons=[2]"]
    found = asterism.judge_tests(model, items[:60], items[60:], labels[:60], overrides=few)
    assert found.layer == found_layer
    assert 0 < found.values["idc_2"] <= 1


def test_a_layer_that_relevance_cannot_pass_is_named_where_it_would_have_to():
    body = [L.Conv1D(4, 3, name="early"), L.LSTM(5, name="memory"), L.Dense(4, "relu", name="late")]
    model = keras.Sequential([keras.Input((8, 2)), *body, L.Dense(2)])
    items = RNG.normal(size=(6, 8, 2)).astype(np.float32)
    judged, rules = JudgedKeras(model, UNIT, items), COMPOSITES["epsilon"](RuleSettings())
    scores, relevance = judged.explainer("late", rules)(items)
    assert relevance.shape == (6, 4)
    np.testing.assert_allclose(scores, model.predict(items, verbose=0), rtol=1e-4, atol=1e-5)
    named = r"'memory' of kind LSTM behind the layer 'early' \(.*Dense"
    with pytest.raises(UserError, match=named):
        judged.explainer("early", rules)
    with pytest.raises(UserError, match="uint8"):
        judged.on_pixels()


@pytest.mark.parametrize("joins", [L.GlobalAveragePooling1D, lambda: L.LSTM(5)])
def test_behind_masked_steps_is_judged_what_the_model_computes(joins):
    """Keras' layers hand on masks beside the graph."""
    tokens = keras.Input((9,), dtype="int32")
    x = L.Embedding(50, 8, mask_zero=True)(tokens)
    x = L.Add()([L.MultiHeadAttention(2, 4)(x, x), L.Dense(8, name="early")(x)])
    x = L.Dense(6, "relu", name="late")(joins()(x))
    model = randomised(keras.Model(tokens, L.Dense(3)(x)))
    padded = np.where(np.arange(9) < 4, TOKENS, 0)
    judged, rules = JudgedKeras(model, UNIT, padded), COMPOSITES["epsilon"](RuleSettings())
    scores, relevance = judged.explainer(judged.find_layer(None), rules)(padded)
    np.testing.assert_allclose(scores, model.predict(padded, verbose=0), rtol=1e-4, atol=1e-5)
    assert relevance.shape == (120, 6)
    named = r"that leaves out masked steps behind the .*'early' \(.*Dense"
    with pytest.raises(UserError, match=named):
        judged.explainer("early", rules)
