"""Judging tests, hidden states and libraries, asked from Python."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import asterism
from asterism.api import judging
from asterism.api.given import as_arrays, as_input_data, with_classes_of
from asterism.core.messages.errors import UserError
from asterism.deepimportance import judged_torch
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.recurrent.torch_engine import ProgramEngine, TorchEngine
from vetting.torch_programs import QuantisedLinear

RNG = np.random.default_rng(0)
SEQUENCES = RNG.normal(size=(20, 5, 4)).astype(np.float32)


class Recurrent(nn.Module):
    """Scores of classes after the last step."""

    def __init__(self, first=True):
        super().__init__()
        self.inner = nn.GRU(4, 7, batch_first=first)
        self.rnn = nn.LSTM(7, 6, batch_first=first)
        self.out = nn.Linear(6, 3)
        self.first = first

    def forward(self, x):
        steps, _ = self.rnn(self.inner(x if self.first else x.transpose(0, 1))[0])
        return self.out(steps[:, -1] if self.first else steps[-1])


@pytest.mark.parametrize("first", [True, False])
def test_states_of_a_module_are_those_that_its_layer_gives(first):
    torch.manual_seed(0)
    net = Recurrent(first).train()
    found = asterism.states(net, SEQUENCES)
    assert net.training
    assert (found.layer, found.states.shape) == ("rnn", (20, 5, 6))
    with torch.no_grad():
        given = torch.tensor(SEQUENCES if first else SEQUENCES.swapaxes(0, 1))
        by_hand, _ = net.rnn(net.inner(given)[0])
        scores = net(torch.tensor(SEQUENCES)).softmax(1)
    by_hand = by_hand.numpy() if first else by_hand.numpy().swapaxes(0, 1)
    np.testing.assert_allclose(found.states, by_hand, atol=1e-6)
    np.testing.assert_allclose(found.probabilities, scores.numpy(), atol=1e-6)
    assert asterism.states(net, SEQUENCES, layer="inner").states.shape == (20, 5, 7)
    assert found.to_frame().shape == (100, 8)


class Whole(nn.Module):
    """One recurrent layer, and scores of classes after its last step."""

    def __init__(self, rnn, width):
        super().__init__()
        self.rnn, self.out = rnn, nn.Linear(width, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


class Steps(nn.Module):
    """A cell that is called step by step."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.out = cell(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.out(state[0] if isinstance(state, tuple) else state)


def of_layer(layer):
    with torch.no_grad():
        return layer(torch.tensor(SEQUENCES))[0].numpy()


@pytest.mark.parametrize(
    ("options", "width"), [({"bidirectional": True}, 12), ({"num_layers": 2}, 6)]
)
def test_states_of_two_directions_stand_side_by_side_and_the_upper_layer_has_the_states(
    options, width
):
    net = Whole(nn.RNN(4, 6, batch_first=True, **options), width)
    np.testing.assert_allclose(asterism.states(net, SEQUENCES).states, of_layer(net.rnn), atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("cell", "layer"), [(nn.LSTMCell, nn.LSTM), (nn.GRUCell, nn.GRU), (nn.RNNCell, nn.RNN)]
)
def test_a_cell_in_a_loop_has_the_states_of_a_layer(cell, layer, compiled):
    net, whole = Steps(cell), layer(4, 6, batch_first=True)
    whole.load_state_dict({f"{name}_l0": value for name, value in net.cell.state_dict().items()})
    given = torch.compile(net, backend="eager") if compiled else net
    found = asterism.states(given, SEQUENCES)
    assert found.layer == "cell"
    np.testing.assert_allclose(found.states, of_layer(whole), atol=1e-6)


@pytest.mark.parametrize("first", [True, False])
def test_states_of_a_program_and_of_its_file_are_those_of_the_module(first, tmp_path):
    net = Recurrent(first).eval()
    free = ({0: torch.export.Dim.AUTO},)
    program = torch.export.export(net, (torch.tensor(SEQUENCES[:2]),), dynamic_shapes=free)
    torch.export.save(program, tmp_path / "net.pt2")
    wanted = asterism.states(net, SEQUENCES)
    for model, layer in ((program, "rnn"), (tmp_path / "net.pt2", "lstm")):
        found = asterism.states(model, SEQUENCES)
        assert found.layer == layer
        np.testing.assert_allclose(found.states, wanted.states, atol=1e-6)
        np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-6)
    assert asterism.states(program, SEQUENCES, layer="inner").states.shape == (20, 5, 7)
    with pytest.raises(UserError, match=r"out.*inner, rnn"):
        asterism.states(program, SEQUENCES, layer="out")


def test_real_numbers_are_given_in_the_type_of_the_parameters():
    torch.manual_seed(0)
    net = Recurrent()
    wanted = asterism.states(net, SEQUENCES).states
    for kind, near in ((torch.bfloat16, 0.02), (torch.float64, 1e-6)):
        np.testing.assert_allclose(
            asterism.states(copy.deepcopy(net).to(kind), SEQUENCES).states, wanted, atol=near
        )


def test_results_name_a_device_that_is_no_processor(tmp_path, monkeypatch):
    """PyTorch's device without memory stands for a GPU: models are opened there, and do not run."""
    found = asterism.states(Recurrent(), SEQUENCES)
    assert found.notes == () and "runs on" not in repr(found)
    net, rows = Recurrent().to("meta"), RNG.normal(size=(9, 4)).astype(np.float32)
    program = torch.export.export(net, (torch.zeros(2, 5, 4, device="meta"),)).module()
    monkeypatch.setattr(judged_torch, "JudgedTorch", lambda *_: None)  # which reads the weights
    unit = PreprocessingParams(scale=1, mean=[0], std=[1])
    for notes in (
        TorchEngine(net, None, SEQUENCES).notes,
        ProgramEngine(program, None).notes,
        judging._judged(nn.Linear(4, 3).to("meta"), rows, unit)[1],
    ):
        assert notes == ("runs on meta",)
    there = replace(found, notes=("runs on cuda:0",))
    page = there.page(tmp_path / "page.html").read_text("utf-8")
    for told in (repr(there), there._repr_html_(), page):
        assert "runs on cuda:0" in told


def test_a_result_is_shown_as_text():
    torch.manual_seed(0)
    net = Recurrent()
    found = asterism.states(net, SEQUENCES)
    verdict, *numbers = repr(found).splitlines()
    assert verdict == f"verdict: {found.verdict}"
    assert numbers == [f"  {name}: {value:.4g}" for name, value in found.values.items()]
    wrong = asterism.states(net, SEQUENCES, labels=(found.traces.predicted + 1) % 3)
    assert repr(wrong).startswith("no verdict: no sequence is classified correctly")


def test_states_of_tests_are_held_against_those_of_the_sequences(tmp_path):
    """A test sequence reaches what the sequences have visited, by the chain's own definition."""
    torch.manual_seed(0)
    net, labels = Recurrent(), RNG.integers(0, 3, 20)
    found = asterism.states(net, SEQUENCES, SEQUENCES[:7], labels, labels[:7])
    right = found.probabilities.argmax(1) == labels
    visited, tested = (
        set(found.model.abstraction.encode(part).ravel().tolist())
        for part in (found.states[right], found.states[:7])
    )
    assert found.values["basic_state"] == len(visited & tested) / len(visited)
    assert f"{found.values['basic_state']:.1%}" in found.verdict
    text = found.page(tmp_path / "page.html").read_text("utf-8")
    assert found.verdict in text and f"{right.mean():.1%}" in text
    assert found.verdict in found._repr_html_()
    halves = asterism.states(net, SEQUENCES, overrides=["abstraction.m=4"])
    parted = asterism.states(net, SEQUENCES[::2], SEQUENCES[1::2], overrides=["abstraction.m=4"])
    assert halves.values == parted.values
    assert halves.verdict in halves.page(tmp_path / "halves.html").read_text("utf-8")
    assert "0.0%" in asterism.states(net, SEQUENCES[:1]).verdict


def pictures(folder, classes):
    """Pictures of a grey level for each class, in a folder for each."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for place in range(6):
            level = np.full((8, 8), 60 * number + place, np.uint8)
            Image.fromarray(level).save(folder / name / f"{place}.png")
    return folder


def test_folders_are_judged_and_a_class_has_its_number_in_both(tmp_path):
    train = pictures(tmp_path / "train", ["cat", "dog", "owl"])
    tests = pictures(tmp_path / "tests", ["dog", "owl"])
    given = as_arrays(train)
    assert given.labels.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert with_classes_of(given, as_arrays(tests)).labels.tolist() == [1] * 6 + [2] * 6
    named = as_arrays(np.zeros((2, 3), np.float32), np.array(["owl", "cat"]))
    assert with_classes_of(given, named).labels.tolist() == [2, 0]
    with pytest.raises(UserError, match="hen"):
        with_classes_of(given, as_arrays(pictures(tmp_path / "more", ["cat", "hen"])))
    with pytest.raises(UserError, match="file"):
        as_input_data(train, np.zeros(18, np.int64))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 9), nn.ReLU(), nn.Linear(9, 3))
    few = ["importance.neurons=[2]"]
    folders, arrays = (
        asterism.judge_tests(net, *parts, overrides=few)
        for parts in ((train, tests), (given.items, as_arrays(tests).items, given.labels))
    )
    assert folders.values == arrays.values


def test_a_layer_that_is_none_is_named():
    with pytest.raises(UserError, match=r".out. .*inner, rnn"):
        asterism.states(Recurrent(), SEQUENCES, layer="out")
    with pytest.raises(UserError, match="no recurrent layer"):
        asterism.states(nn.Linear(4, 3), SEQUENCES)
    with pytest.raises(UserError, match="function is no recurrent network"):
        asterism.states(lambda x: x, SEQUENCES)


def test_states_of_a_model_of_keras_are_those_of_its_file(tmp_path):
    keras = pytest.importorskip("keras")
    layers = keras.layers
    net = keras.Sequential(
        [keras.Input((5, 4)), layers.GRU(6), layers.Dense(3, activation="softmax")]
    )
    net.save(tmp_path / "net.keras")
    found, same = (
        asterism.states(net, SEQUENCES),
        asterism.states(tmp_path / "net.keras", SEQUENCES),
    )
    assert found.states.tobytes() == same.states.tobytes()


def test_tests_are_judged_as_the_lane_judges_them():
    keras = pytest.importorskip("keras")
    layers = keras.layers
    keras.utils.set_random_seed(0)
    pictures, labels = RNG.integers(0, 256, (120, 6, 6, 1), np.uint8), RNG.integers(0, 3, 120)
    net = keras.Sequential([keras.Input((6, 6, 1)), layers.Flatten(),
                            layers.Dense(16, activation="relu"),
                            layers.Dense(3, activation="softmax")])  # fmt: skip
    found = asterism.judge_tests(net, pictures[:80], pictures[80:], labels[:80],
                                 overrides=["importance.neurons=[2,3]"])  # fmt: skip
    assert set(found.combinations) == {"idc_2", "idc_3"}
    assert 0 < found.values["idc_2"] <= 1
    few = asterism.judge_tests(net, pictures[:80], pictures[80:][found.subset["idc_2"]],
                               labels[:80], overrides=["importance.neurons=[2,3]"])  # fmt: skip
    assert few.values["idc_2"] == found.values["idc_2"]
    with pytest.raises(UserError, match="no preprocessing"):
        asterism.judge_tests(net, pictures, pictures, labels, preprocessing="unity")


@pytest.mark.parametrize(
    ("place", "said"), [(torch.bfloat16, "bfloat16, which NumPy does not have"), ("meta", "meta")]
)
def test_modules_that_libraries_cannot_take_are_one_line(place, said):
    net = nn.Linear(4, 3).to(place)
    with pytest.raises(UserError, match=f"^[^\n]*{said}[^\n]*$"):
        asterism.compare_libraries(net, SEQUENCES[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [torch.float16, torch.float64])
def test_libraries_compare_modules_of_other_types(kind):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).to(kind)
    found = asterism.compare_libraries(net, SEQUENCES[0], libraries=["onnx_program"])
    assert found.verdict == "agree" and next(net.parameters()).dtype == kind


@pytest.mark.slow
def test_pytorch_agrees_with_itself_on_a_quantised_module():
    torch.manual_seed(0)
    net = QuantisedLinear(nn.Linear(4, 3), 8).eval()
    found = asterism.compare_libraries(net, SEQUENCES[0], libraries=["pytorch_program"])
    assert found.verdict == "agree" and not found.facts["no_reference"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_libraries_run_a_module_of_a_gpu_on_the_processor():
    net = nn.Linear(4, 3).cuda()
    found = asterism.compare_libraries(net, SEQUENCES[0], libraries=["onnx_program"])
    assert found.verdict == "agree" and next(net.parameters()).is_cuda


def test_libraries_are_asked_with_an_array():
    with pytest.raises(UserError, match="give an array"):
        asterism.compare_libraries(nn.Linear(2, 2))


@pytest.mark.slow
def test_libraries_agree_on_a_module_and_the_page_says_so(tmp_path):
    net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3))
    found = asterism.compare_libraries(
        net, torch.randn(4, 8), libraries=["pytorch_program", "onnx_program"]
    )
    assert found.verdict == "agree"
    assert set(found.to_frame()["status"]) == {"right"}
    assert "pytorch" in found.page(tmp_path / "page").read_text().lower()
    with pytest.raises(UserError, match="there already"):
        found.page(tmp_path / "page")
