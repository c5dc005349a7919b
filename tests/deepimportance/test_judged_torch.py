"""Tests of PyTorch's models are judged as those of Keras are, by the same rules and criteria."""

import keras
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import asterism
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import COMPOSITES, RuleSettings
from asterism.deepimportance.heatmaps import compute_heatmaps
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.judged_torch import JudgedTorch
from asterism.deepimportance.neurons import sum_neuron_relevance
from asterism.models.architectures.convolutional import lenet5
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.training.torch_copies import TorchCopy
from deepimportance.test_heatmaps import RULES
from models.small_trainings import digits
from thinning import every

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
RNG = np.random.default_rng(0)
L = keras.layers


def twins():
    """A small convolutional network in Keras, and in PyTorch with the same weights."""
    keras.utils.set_random_seed(2)
    ours = keras.Sequential(
        [
            keras.Input((10, 10, 2)),
            L.Conv2D(5, 3, padding="same"),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(2),
            L.Conv2D(4, 3, activation="relu"),
            L.AveragePooling2D(3),
            L.Flatten(),
            L.Dense(7, activation="relu"),
            L.Dense(3, activation="softmax"),
        ]
    )
    rng = np.random.default_rng(0)  # the same for each test, whichever ran before
    for weight in ours.weights:
        low = 0.5 if "variance" in weight.name else -0.6
        weight.assign(rng.uniform(low, 1, weight.shape))
    conv, norm, other, hidden, last = (layer for layer in ours.layers if layer.weights)
    net = nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1),
        nn.BatchNorm2d(5, eps=norm.epsilon),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(5, 4, 3),
        nn.ReLU(),
        nn.AvgPool2d(3),
        nn.Flatten(),
        nn.Linear(4, 7),
        nn.ReLU(),
        nn.Linear(7, 3),
        nn.Softmax(1),
    )
    state = [
        *(np.transpose(conv.kernel, (3, 2, 0, 1)), conv.bias, norm.gamma, norm.beta),
        *(np.transpose(other.kernel, (3, 2, 0, 1)), other.bias),
        *(np.transpose(hidden.kernel), hidden.bias, np.transpose(last.kernel), last.bias),
    ]
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), state, strict=True):
            parameter.copy_(torch.tensor(np.array(value)))
        net[1].running_mean.copy_(torch.tensor(np.array(norm.moving_mean)))
        net[1].running_var.copy_(torch.tensor(np.array(norm.moving_variance)))
    return ours, net


PICTURES = RNG.integers(0, 256, (90, 10, 10, 2), np.uint8)


#: The same layer in both networks.
LAYERS = [("dense", "9"), ("conv2d_1", "5"), ("re_lu", "2")]


@pytest.mark.parametrize(
    ("composite", "ours", "theirs"),
    every(5, [(name, *layer) for name in COMPOSITES.names() for layer in LAYERS]),
)
def test_relevance_is_that_of_keras_on_the_same_weights(composite, ours, theirs):
    model, net = twins()
    names = {layer.name.rstrip("_0123456789"): layer.name for layer in model.layers}
    convolutions = [layer.name for layer in model.layers if isinstance(layer, L.Conv2D)]
    dense = [layer.name for layer in model.layers if isinstance(layer, L.Dense)]
    layer = {"dense": dense[0], "conv2d_1": convolutions[1]}.get(ours, names["re_lu"])
    rules = COMPOSITES[composite](RuleSettings())
    scores, relevance = JudgedKeras(model, UNIT).explainer(layer, rules)(PICTURES)
    same, found = JudgedTorch(net, PICTURES, UNIT).explainer(theirs, rules)(PICTURES)
    np.testing.assert_allclose(same, scores, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found, relevance, rtol=0, atol=1e-5 * np.abs(relevance).max())


@pytest.mark.parametrize("composite", every(3, COMPOSITES.names()))
def test_relevance_of_pixels_is_that_of_keras_on_the_same_weights(composite):
    model, net = twins()
    rules, labels = RULES.model_copy(update={"composite": composite}), np.arange(90) % 4
    wanted = compute_heatmaps(JudgedKeras(model, UNIT), rules, PICTURES, labels)
    found = compute_heatmaps(JudgedTorch(net, PICTURES, UNIT), rules, PICTURES, labels)
    assert found.labels.tolist() == [0] * 3 + [1] * 3 + [2] * 3, "the model has three classes"
    assert np.array_equal(found.images, PICTURES[[0, 4, 8, 1, 5, 9, 2, 6, 10]])
    atol = 1e-5 * np.abs(wanted.relevance).max()
    np.testing.assert_allclose(found.relevance, wanted.relevance, rtol=0, atol=atol)


def test_tests_are_judged_as_keras_judges_them():
    model, net = twins()
    labels = model.predict(UNIT.apply(PICTURES), verbose=0).argmax(1)
    few = ["importance.neurons=[2,3]"]
    wanted, found = (
        asterism.judge_tests(one, PICTURES[:60], PICTURES[60:], labels[:60], overrides=few)
        for one in (model, net)
    )
    assert found.layer == "9"
    assert found.combinations == wanted.combinations
    assert found.values == pytest.approx(wanted.values, abs=1e-5)
    assert net.training, "the module is as it was"


@pytest.mark.slow
def test_lenet_5_has_the_same_important_neurons_on_held_out_pictures():
    model, data = lenet5((28, 28, 1), 10), digits(None, None)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(UNIT.apply(data.train_images), data.train_labels, epochs=3, verbose=0)
    given, labels = data.test_images, data.test_labels
    judged = JudgedKeras(model, UNIT), JudgedTorch(TorchCopy(model), given, UNIT)
    ours, theirs = (
        sum_neuron_relevance(one, RULES, one.find_layer(None), given, labels) for one in judged
    )
    assert ours.inputs.sum() > len(given) / 2
    assert np.array_equal(ours.inputs, theirs.inputs)
    assert np.array_equal(ours.ranking(), theirs.ranking())


@pytest.mark.slow
def test_attacks_add_what_they_add_in_keras(tmp_path):
    model, net = twins()
    labels = model.predict(UNIT.apply(PICTURES), verbose=0).argmax(1)
    few = ["importance.neurons=[2,3]", "attack.inputs=5", "importance.draws=2"]
    wanted, found = (
        asterism.judge_tests(
            one, PICTURES[:40], PICTURES[40:], labels[:40], labels[40:], attacks=["fgsm", "jsma"],
            overrides=few,
        )
        for one in (model, net)
    )  # fmt: skip
    assert list(found.added) == list(wanted.added) == ["fgsm", "jsma", "semantic"]
    for name, added in found.added.items():
        assert added.sources.tolist() == wanted.added[name].sources.tolist()
        assert added.success.tolist() == wanted.added[name].success.tolist()
    assert found.to_frame().height == wanted.to_frame().height
    assert "fgsm" in found.page(tmp_path / "page.html").read_text("utf-8")


def test_attacks_need_labels_and_pictures():
    (_, net), labels = twins(), np.arange(90) % 3
    with pytest.raises(UserError, match="give test_labels"):
        asterism.judge_tests(net, PICTURES[:60], PICTURES[60:], labels[:60], attacks=["fgsm"])
    real = UNIT.apply(PICTURES).transpose(0, 3, 1, 2)
    few = ["importance.neurons=[2,3]"]
    with pytest.raises(UserError, match="uint8"):
        asterism.judge_tests(
            net, real[:60], real[60:], labels[:60], labels[60:], attacks=["fgsm"], overrides=few
        )
    of_seven = torch.export.export(net, (torch.from_numpy(real[:7]),))
    parts = (PICTURES[:60], PICTURES[60:], labels[:60], labels[60:])
    with pytest.raises(UserError, match="any number"):
        asterism.judge_tests(of_seven, *parts, attacks=["fgsm"], overrides=few)


class Text(nn.Module):
    """A classifier of tokens with attention."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.places = nn.Parameter(torch.randn(1, 9, 16))
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.out = nn.Linear(16, 3)

    def forward(self, tokens):
        return self.out(self.encoder(self.embedding(tokens) + self.places).mean(1))


class Residual(nn.Module):
    """A network whose activations and sums are functions, with a gate."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm, self.out = nn.BatchNorm2d(4), nn.Linear(36, 3)

    def forward(self, x):
        y = functional.relu(self.norm(self.first(x)))
        y = functional.relu(self.second(y) + y)
        y = y * torch.sigmoid(y.mean((2, 3), keepdim=True))
        return self.out(functional.max_pool2d(y, 2).flatten(1))


def without_biases(net):
    """A network none of whose biases keeps relevance."""
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.endswith("bias") or name == "places":
                parameter.zero_()
    return net.eval()


@pytest.mark.parametrize(
    ("make", "items", "layers"),
    [
        (Text, RNG.integers(0, 50, (20, 9)), ["embedding", "encoder.self_attn", "encoder.norm1"]),
        (Residual, RNG.normal(size=(20, 1, 6, 6)).astype(np.float32), ["relu", "relu_1"]),
    ],
)
def test_relevance_is_neither_made_nor_lost(make, items, layers):
    """It adds up to the score where no bias keeps any, at each cut through the network."""
    torch.manual_seed(0)
    judged = JudgedTorch(without_biases(make()).double(), items, UNIT)
    rules = COMPOSITES["epsilon"](RuleSettings(epsilon=1e-9))
    for layer in layers:
        scores, relevance = judged.explainer(layer, rules)(items)
        if layer != "encoder.self_attn":  # beside it stands the residual
            np.testing.assert_allclose(relevance.sum(1), scores.max(1), rtol=1e-3, atol=1e-5)


def test_attention_passes_relevance_by_its_weights():
    """By the definition: R_i = Σ_j x_i p_ji / Σ_k x_k p_jk R_j, of the values alone."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.value, self.query = nn.Linear(4, 4, bias=False), nn.Linear(4, 4)

        def forward(self, x):
            q, v = self.query(x), self.value(x)
            return (torch.softmax(q @ q.transpose(1, 2), -1) @ v)[:, 0]

    torch.manual_seed(3)
    net, x = Attention().double(), RNG.normal(size=(6, 5, 4))
    rules = COMPOSITES["zero"](RuleSettings())
    scores, found = JudgedTorch(net, x, UNIT).explainer("value", rules)(x)
    with torch.no_grad():
        given = torch.tensor(x)
        q, v = net.query(given), net.value(given)
        p = torch.softmax(q @ q.transpose(1, 2), -1)[:, 0]
    for i, score in enumerate(scores):
        winner = score.argmax()
        wanted = np.zeros(4)
        wanted[winner] = sum(
            v[i, k, winner] * p[i, k] / score[winner] * score[winner] for k in range(5)
        )
        np.testing.assert_allclose(found[i], wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "items", "layer"),
    every(
        4,
        [
            (Text, RNG.integers(0, 50, (80, 9)), "gelu"),
            (Residual, RNG.normal(size=(80, 1, 6, 6)).astype(np.float32), "relu_1"),
            (
                lambda: nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4)),
                RNG.normal(size=(80, 5)).astype(np.float32),
                "1",
            ),
            (
                lambda: nn.Sequential(
                    nn.Conv1d(3, 8, 3),
                    nn.ReLU(),
                    nn.AdaptiveAvgPool1d(1),
                    nn.Flatten(),
                    nn.Linear(8, 3),
                ),
                RNG.normal(size=(80, 3, 20)).astype(np.float32),
                "1",
            ),
        ],
    ),
)
def test_texts_tables_sequences_and_programs_are_judged(make, items, layer, tmp_path):
    torch.manual_seed(1)
    net = make().eval()
    with torch.no_grad():
        labels = net(torch.from_numpy(items)).argmax(1).numpy()
    few = ["importance.neurons=[3]"]
    found = asterism.judge_tests(net, items[:60], items[60:], labels[:60], overrides=few)
    assert found.layer == layer
    assert 0 < found.values["idc_3"] <= 1
    assert f"{found.values['idc_3']:.1%}" in found.verdict.replace("100%", "100.0%")
    assert found.verdict in found.page(tmp_path / "page.html").read_text("utf-8")
    sizes = ({0: torch.export.Dim("batch", min=1, max=4096)},)
    program = torch.export.export(net, (torch.from_numpy(items[:2]),), dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "net.pt2")
    again = asterism.judge_tests(
        tmp_path / "net.pt2", items[:60], items[60:], labels[:60], overrides=few
    )
    assert again.values == pytest.approx(found.values)


@pytest.mark.parametrize(("first", "shown"), [(nn.Identity(), True), (torch.cumsum, False)])
def test_the_page_shows_the_relevance_of_pixels_where_it_has_a_way(first, shown, tmp_path):
    class Coloured(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.out = nn.Conv2d(3, 4, 3), nn.Linear(4, 3)

        def forward(self, x):
            seen = first(x) if isinstance(first, nn.Module) else first(x, 2)
            return self.out(torch.relu(self.conv(seen)).mean((2, 3)))

    pictures = RNG.integers(0, 256, (60, 6, 6, 3), np.uint8)
    labels = np.arange(60) % 3
    few = ["importance.neurons=[2]"]
    parts = (pictures[:40], pictures[40:], labels[:40], labels[40:])
    found = asterism.judge_tests(Coloured(), *parts, overrides=few)
    page = found.page(tmp_path / "page.html").read_text("utf-8")
    assert ("importance-relevance" in page) == shown


def test_what_relevance_cannot_pass_is_named():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.out = nn.Linear(4, 6), nn.Linear(6, 2)

        def forward(self, x):
            hidden = torch.relu(self.first(x))
            return self.out(torch.sort(hidden * hidden).values)

    items = RNG.normal(size=(20, 4)).astype(np.float32)
    judged = JudgedTorch(Odd(), items, UNIT)
    rules = COMPOSITES["epsilon"](RuleSettings())
    with pytest.raises(UserError, match="sort"):
        judged.explainer("first", rules)
    hidden, scores = judged.recorder(["relu"])(items)
    assert hidden[0].shape == (20, 6)
    assert scores.shape == (20, 2)
    with pytest.raises(UserError, match="no layer 'middle'"):
        judged.find_layer("middle")
    with pytest.raises(UserError, match=r"shape \(4,\), not \(5,\)"):
        judged.require(np.zeros((2, 5), np.float32))
    with pytest.raises(UserError, match="no scores"):
        JudgedTorch(nn.Conv2d(1, 2, 3), np.zeros((2, 1, 5, 5), np.float32), UNIT)
