"""Vetting modules and programs of PyTorch from Python."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_programs import exported, saved, train

from asterism.api.given import as_input_data
from asterism.api.vetting import vet
from asterism.core.messages.errors import UserError
from asterism.models.torch_modules import ModuleRuntime, evaluation_mode
from asterism.pytest import assert_agrees

FEW = ["vet.changes.inputs=8", "vet.search.seeds=3", "vet.search.queries=10"]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(240, 8)).astype(np.float32)
LABELS = ROWS[:, :3].argmax(axis=1)


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.5), nn.Linear(24, 3))
    return train(net, torch.tensor(ROWS), torch.tensor(LABELS), 0.01)


def damaged(net):
    """A copy without a class."""
    other = copy.deepcopy(net)
    with torch.no_grad():
        other[-1].bias[1] -= 50
    return other


def by_hand(one, other):
    """The share of rows whose largest numbers are at one place."""
    with torch.no_grad():
        answers = [net.eval()(torch.tensor(ROWS)).argmax(axis=1) for net in (one, other)]
    return float((answers[0] == answers[1]).double().mean())


def test_modules_agree_as_counted_by_hand_and_keep_their_mode(trained):
    trained.train()
    trained[0].eval()
    other = damaged(trained)
    found = vet(trained, other, torch.tensor(ROWS), LABELS, overrides=FEW)
    assert [part.training for part in trained.modules()] == [True, False, True, True, True]
    assert found.agree == pytest.approx(by_hand(copy.deepcopy(trained), other))
    assert found.verdict == "do not ship"


@pytest.mark.slow
def test_compiled_modules_have_the_numbers_of_the_eager_ones(trained):
    pair = trained.eval(), damaged(trained).eval()
    eager = vet(*pair, ROWS, LABELS, overrides=FEW)
    compiled = vet(*map(torch.compile, pair), ROWS, LABELS, overrides=FEW)
    for side in ("original", "compressed"):
        np.testing.assert_allclose(getattr(compiled, side), getattr(eager, side), atol=1e-5)
    assert (compiled.differs == eager.differs).all() and eager.differs.any()
    assert compiled.agreement.differ == eager.agreement.differ
    assert (compiled.verdict, compiled.flips) == (eager.verdict, eager.flips)


def test_a_module_is_set_back_where_it_fails(trained):
    trained.train()
    with pytest.raises(UserError, match="fails on the first input"):
        vet(trained, trained, np.zeros((20, 5), np.float32))
    assert trained.training


@pytest.mark.slow
def test_a_file_may_be_vetted_beside_a_module(trained, tmp_path):
    file = saved(copy.deepcopy(trained).eval(), torch.tensor(ROWS), tmp_path / "net.pt2")
    assert vet(trained, file, ROWS, LABELS, overrides=FEW).agree >= 0.97


@pytest.mark.parametrize(
    ("last", "maker"),
    [
        (nn.Softmax(1), "softmax"),
        (nn.LogSoftmax(1), "logsoftmax"),
        (nn.Sigmoid(), "sigmoid"),
        (nn.Identity(), "gemm"),
        (nn.Unflatten(1, (1, 6)), "gemm"),
        (nn.Tanh(), "tanh"),
    ],
)
def test_the_operator_that_makes_an_output_is_seen(last, maker):
    net = nn.Sequential(nn.Linear(8, 6), last).eval()
    (answer,) = ModuleRuntime(net, "net", ROWS).signature.outputs
    assert answer.made_by == maker


def test_numbers_are_given_in_the_type_of_the_parameters_and_that_is_said():
    net = nn.Linear(8, 3).to(torch.bfloat16)
    runtime = ModuleRuntime(net, "net", ROWS)
    assert runtime.notes == ("inputs float32 are given as bfloat16, the type of its parameters",)
    (found,) = runtime.run({"input": ROWS[:5]}).values()
    with torch.no_grad():
        expected = net(torch.tensor(ROWS[:5]).bfloat16()).float().numpy()
    assert (found == expected).all()


def test_pictures_are_given_with_their_channels_first():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    pictures = RNG.integers(0, 256, (40, 12, 10, 3), dtype=np.uint8)
    other = copy.deepcopy(net)
    found = vet(net, other, pictures, kind="images", comparison="top_label", overrides=FEW)
    assert found.agree == 1
    assert found.parameters.domain.kind == "images"
    with torch.no_grad():
        given = torch.tensor(pictures).permute(0, 3, 1, 2) / 255
        np.testing.assert_allclose(net.eval()(given).numpy(), found.original, atol=1e-5)


def test_data_sets_and_loaders_are_read_with_their_labels():
    data = TensorDataset(torch.tensor(ROWS), torch.tensor(LABELS))
    for given in (data, DataLoader(data, 64), DataLoader(data, 50)):
        found = as_input_data(given)
        assert (found.items == ROWS).all()
        assert (found.labels == LABELS).all()
    assert as_input_data(TensorDataset(torch.tensor(ROWS))).labels is None
    three = TensorDataset(*(torch.tensor(ROWS),) * 3)
    with pytest.raises(UserError, match="3 parts"):
        as_input_data(three)


def test_exported_graphs_have_one_mode(trained):
    program = exported(copy.deepcopy(trained).eval(), torch.tensor(ROWS))
    with evaluation_mode(program.module()) as changed:
        assert not changed


def test_the_assertion_passes_and_fails_with_verdict_and_page(trained, tmp_path):
    assert_agrees(trained, copy.deepcopy(trained), ROWS, LABELS, overrides=FEW)
    with pytest.raises(AssertionError, match="verdict: do not ship") as error:
        assert_agrees(
            trained,
            damaged(trained),
            ROWS,
            page=tmp_path / "page",
            overrides=FEW,
            comparison="top_label",
        )
    assert str(tmp_path / "page/index.html") in str(error.value)
    with pytest.raises(AssertionError, match="more inputs are needed"):
        assert_agrees(trained, trained, ROWS[:60], LABELS[:60], overrides=FEW)


class Beside(nn.Module):
    """Scores of a picture beside some numbers."""

    def __init__(self):
        super().__init__()
        self.seen, self.told = nn.Linear(12, 3), nn.Linear(4, 3)

    def forward(self, picture, facts):
        return self.seen(picture.flatten(1)) + self.told(facts)


def test_modules_of_several_inputs_are_vetted_and_repaired(tmp_path):
    torch.manual_seed(0)
    net = Beside().eval()
    small = copy.deepcopy(net)
    with torch.no_grad():
        small.told.weight.copy_(small.told.weight.round())
    rng = np.random.default_rng(0)
    inputs = {
        "picture": rng.normal(size=(80, 3, 4)).astype(np.float32),
        "facts": torch.tensor(rng.normal(size=(80, 4)), dtype=torch.float32),
    }
    given = torch.tensor(inputs["picture"]), inputs["facts"]
    low = [*FEW, "vet.repair.float_share=0.5"]
    found = vet(net, small, inputs, comparison="top_label", overrides=low)
    with torch.no_grad():
        by_hand = (net(*given).argmax(1) != small(*given).argmax(1)).numpy()
    assert 0 < by_hand.sum() < 60
    np.testing.assert_array_equal(found.differs, by_hand)
    assert found.triggers.shape[1:] == (16,)
    assert found.repair["blamed"][0]["node"] == "told"
    free = {"n": torch.export.Dim("n")}
    shapes = {"picture": {0: free["n"]}, "facts": {0: free["n"]}}
    program = torch.export.export(small, given, dynamic_shapes=shapes)
    again = vet(net, program, inputs, comparison="top_label", overrides=low)
    np.testing.assert_array_equal(again.differs, by_hand)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"a": np.zeros((5, 2)), "b": np.zeros((4, 2))}, "equally many items"),
        ({"a": np.zeros((5, 2)), "b": np.zeros((5, 2), int)}, "arrays of real numbers"),
        ({}, "arrays of real numbers"),
        ({"a": np.zeros((5, 2)), "b": np.zeros(5)}, "no module or program of PyTorch"),
        ((np.zeros((5, 2)), np.zeros(5)), "several shapes"),
    ],
)
def test_several_inputs_that_do_not_fit_are_one_line(inputs, said):
    with pytest.raises(UserError, match=said):
        vet(lambda x: x, lambda x: x, inputs)
