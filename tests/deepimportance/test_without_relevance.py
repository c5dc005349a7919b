"""Where relevance has no rule for an operation, the criteria of activations alone still judge."""

import keras
import numpy as np
import pytest
import torch
from torch import nn

import asterism
from asterism.core.messages.errors import UserError
from thinning import every

L = keras.layers
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 5)).astype(np.float32)
LABELS = RNG.integers(0, 4, 120)
FEW = ["importance.neurons=[2]"]


def in_keras(block):
    """A network with an operation before its scores."""
    rows = keras.Input((5,))
    model = keras.Model(rows, block(L.Dense(4)(L.Dense(12, "tanh", name="hidden")(rows))))
    for weight, seed in zip(model.weights, range(4), strict=True):
        weight.assign(np.random.default_rng(seed).normal(size=weight.shape))
    return model


class Module(nn.Module):
    """The same in PyTorch."""

    def __init__(self, block):
        super().__init__()
        torch.manual_seed(0)
        self.hidden, self.out, self.block = nn.Linear(5, 12), nn.Linear(12, 4), block

    def forward(self, x):
        return self.block(self.out(torch.tanh(self.hidden(x))))


def as_program(block):
    free = ({0: torch.export.Dim.AUTO},)
    return torch.export.export(Module(block), (torch.tensor(ROWS[:2]),), dynamic_shapes=free)


def in_torch(y):
    return torch.cumsum(y.unsqueeze(2), 2).squeeze(2)


@pytest.mark.parametrize(
    ("make", "block", "layer", "named"),
    every(
        3,
        [
            (
                in_keras,
                L.UnitNormalization(name="unit"),
                "hidden",
                "the layer 'unit' of kind UnitNorm",
            ),
            (
                in_keras,
                lambda y: L.Reshape((4,))(keras.ops.cumsum(L.Reshape((4, 1))(y), axis=2)),
                "hidden",
                "of kind Cumsum",
            ),
            (Module, in_torch, "tanh", "the operator cumsum"),
            (
                Module,
                lambda y: torch.fft.irfft(torch.fft.rfft(y), 4),
                "tanh",
                "the operator fft_rfft",
            ),
            (as_program, in_torch, "tanh", "the operator cumsum"),
        ],
    ),
)
def test_other_criteria_are_those_of_the_network_without_the_operation(
    make, block, layer, named, tmp_path
):
    """None of these operations changes which score is the largest."""
    parts = (ROWS[:80], ROWS[80:], LABELS[:80])
    plain = asterism.judge_tests(make(lambda y: y), *parts, overrides=FEW)
    net = make(block)
    found = asterism.judge_tests(net, *parts, overrides=FEW)
    assert found.layer == plain.layer == layer
    wanted = {name: value for name, value in plain.values.items() if name != "idc_2"}
    assert len(wanted) == len(plain.values) - 1 > 5
    assert found.values == pytest.approx(wanted, abs=1e-6)
    assert found.combinations == found.subset == {}
    asked = asterism.judge_tests(net, *parts, layer=layer, overrides=FEW)
    assert asked.values == found.values
    (told,) = found.to_frame().drop_nulls("note")["note"]
    page = found.page(tmp_path / "page.html").read_text("utf-8").replace("&#39;", "'")
    assert all(named in text for text in (told, found.verdict, page))
    assert found.verdict in page and len(found.verdict) < 300
    with pytest.raises(UserError, match=named):
        asterism.judge_tests(net, *parts, overrides=["criteria.names=[]"])
