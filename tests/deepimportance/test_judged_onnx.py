"""ONNX files are judged as the models that they were exported from, without relevance."""

import warnings

import keras
import numpy as np
import pytest
import torch
from onnx import helper
from torch import nn

import asterism
from asterism.core.messages.errors import UserError
from asterism.deepimportance.judged_onnx import JudgedOnnx
from asterism.models.formats.keras import save_onnx
from deepimportance.test_judged_torch import PICTURES, RNG, UNIT, L, Residual, Text, twins
from localisation.written_graphs import V, W, net, value
from onnx_texts import onnx_model
from thinning import every

FEW = ["importance.neurons=[2]"]
ROWS = RNG.normal(size=(90, 5)).astype(np.float32)
LABELS = RNG.integers(0, 3, 90)


class Steps(nn.Module):
    """A network whose activations are products in ONNX."""

    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Conv1d(6, 8, 3), nn.Linear(8, 3)

    def forward(self, x):
        y = nn.functional.silu(self.first(x))
        return self.out(nn.functional.hardswish(y).mean(2))


def exported(model, items, path, fixed=False):
    """A module's file, of one batch of seven or of any."""
    given = torch.from_numpy(items[:7])
    free = {} if fixed else {"dynamic_axes": {"x": {0: "N"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), (given,), path, dynamo=False, input_names=["x"], **free)
    return path


def of_module(make, fixed=False):
    def both(items, path):
        torch.manual_seed(1)
        model = make()
        given = UNIT.apply(items).transpose(0, 3, 1, 2) if items is PICTURES else items
        return model, exported(model, given, path, fixed)

    return both


def of_keras(make):
    def both(items, path):
        keras.utils.set_random_seed(0)
        model = make()
        save_onnx(model, path)
        return model, path

    return both


def recurrent():
    steps = keras.Input((6, 9))
    return keras.Model(steps, L.Dense(3, "softmax")(L.LSTM(5, name="states")(steps)))


def table():
    return nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))


@pytest.mark.parametrize(
    ("make", "items", "hidden"),
    every(
        4,
        [
            (of_module(table, fixed=True), ROWS, 1),
            (of_module(table), ROWS, 1),
            (of_keras(lambda: twins()[0]), PICTURES, 3),
            (of_module(lambda: twins()[1]), PICTURES, 3),
            (of_module(Steps), RNG.normal(size=(90, 6, 9)).astype(np.float32), 2),
            (of_keras(recurrent), RNG.normal(size=(90, 6, 9)).astype(np.float32), 1),
            (of_module(Residual), RNG.normal(size=(90, 1, 6, 6)).astype(np.float32), 2),
            (of_module(Text), RNG.integers(0, 50, (90, 9)), 1),
        ],
    ),
)
def test_values_are_those_of_the_exported_model(make, items, hidden, tmp_path):
    model, path = make(items, tmp_path / "net.onnx")
    parts = (items[:60], items[60:], LABELS[:60])
    wanted = asterism.judge_tests(model, *parts, overrides=FEW)
    found = asterism.judge_tests(path, *parts, overrides=FEW)
    assert len(JudgedOnnx(path, items, UNIT).hidden_layers()) == hidden
    others = {name: value for name, value in wanted.values.items() if name != "idc_2"}
    assert len(others) > 5 and found.values == pytest.approx(others, abs=1e-6)


def unknown():
    """A graph of batches of four rows, with operators of ONNX Runtime's own; two names are one."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["sums"], name="first"),
        helper.make_node("QuickGelu", ["sums"], ["bent"], domain="com.microsoft", alpha=1.0),
        helper.make_node("Inverse", ["e"], ["f"], domain="com.microsoft"),
        helper.make_node("MatMul", ["bent", "f"], ["turned"]),
        helper.make_node("MatMul", ["turned", "v"], ["y"], name="first"),
    ]
    weights = {"w": V @ W, "v": V, "e": np.eye(3, dtype=np.float32)}
    more = [helper.make_opsetid("com.microsoft", 1)]
    return net(nodes, [value("x", 4, 3)], [value("y", 4, 2)], more, **weights)


def test_files_of_other_operators_are_judged_without_relevance(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(unknown().SerializeToString())
    judged = JudgedOnnx(path, ROWS[:, :3], UNIT)
    assert judged.layers == ["first", "bent", "turned", "y"]
    assert judged.hidden_layers() == ["bent"]
    (bent,), outputs = judged.recorder(["bent"])(ROWS[:, :3])
    sums = ROWS[:, :3] @ (V @ W)
    np.testing.assert_allclose(bent, sums / (1 + np.exp(-sums)), atol=1e-5)
    np.testing.assert_allclose(outputs, bent @ V, atol=1e-5)
    parts = (ROWS[:60, :3], ROWS[60:, :3], LABELS[:60])
    found = asterism.judge_tests(path, *parts, overrides=FEW)
    assert found.layer == "bent" and found.combinations == found.subset == {}
    (told,) = found.to_frame().drop_nulls("note")["note"]
    page = found.page(tmp_path / "page.html").read_text("utf-8")
    assert all("the nodes of an ONNX file" in text for text in (told, found.verdict, page))
    other = asterism.judge_tests(path, *parts, layer="turned", overrides=FEW)
    assert other.layer == "turned" and other.values.keys() == found.values.keys()
    for named, said in [({"layer": "third"}, "no layer 'third'"), ({}, "the nodes of an ONNX")]:
        with pytest.raises(UserError, match=f"^[^\n]*{said}[^\n]*$"):
            asterism.judge_tests(path, *parts, overrides=["criteria.names=[]"], **named)


@pytest.mark.parametrize(
    ("text", "items", "said"),
    [
        ("(float[n,5] x) => (float[n,5] y) { y = Relu (x) }", ROWS[:, :4], "takes x float32"),
        ("(int64[n,5] x) => (int64[n,5] y) { y = Abs (x) }", ROWS, "takes x int64"),
        ("(float[n,5] x, float[n,5] z) => (float[n,5] y) { y = Add (x, z) }", ROWS, "2 inputs"),
        ("(float[n,5] x) => (int64[n] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }", ROWS, "0 o"),
        ("(float[n,5] x) => (float[n,5] y) { y = Relu (x) }", ROWS, "no hidden layer"),
        ("(float[5,5] x) => (float[5,5] y) { y = Reshape (x, s) }", ROWS, "cannot run"),
    ],
)
def test_what_cannot_be_judged_is_one_line(text, items, said, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx_model(text, s=np.array([4, 5])).SerializeToString())
    with pytest.raises(UserError, match=f"^[^\n]*{said}[^\n]*$"):
        asterism.judge_tests(path, items[:60], items[60:], LABELS[:60], overrides=FEW)


@pytest.mark.slow
def test_noise_is_added_and_attacks_by_gradients_are_one_line(tmp_path):
    model, path = of_module(lambda: twins()[1])(PICTURES, tmp_path / "net.onnx")
    labels = JudgedOnnx(path, PICTURES, UNIT).recorder([])(PICTURES)[1].argmax(1)
    parts = (PICTURES[:40], PICTURES[40:], labels[:40], labels[40:])
    few = [*FEW, "attack.inputs=5", "importance.draws=2"]
    wanted, found = (
        asterism.judge_tests(one, *parts, attacks=["noise"], overrides=few) for one in (model, path)
    )
    assert found.added["noise"].success.tolist() == wanted.added["noise"].success.tolist()
    assert np.array_equal(found.added["noise"].images, wanted.added["noise"].images)
    with pytest.raises(UserError, match=r"^net\.onnx has no gradients[^\n]*$"):
        asterism.judge_tests(path, *parts, attacks=["fgsm"], overrides=few)
