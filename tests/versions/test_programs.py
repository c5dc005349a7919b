"""Programs of torch.export as they are: their steps, their parts, and how they are run."""

import importlib

import numpy as np
import pytest
import torch
from small_files import run_file
from small_programs import Pooling, save_pooling

from asterism.comparing.cases import UpgradePair, judge_upgrade
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backend_names import (
    file_references,
    is_backend,
    precision_of,
    suffix_of,
)
from asterism.differential.backends.pytorch_program import constants_of, in_float64
from asterism.differential.reference.runs import PERTURBATIONS, STEPPED
from asterism.differential.subjects.exported_program import read_program
from asterism.memo.universe.tensors import EPSILON
from libraries.small_results import JUDGE, made_result
from vetting.torch_programs import QuantisedLinear, saved

X = np.random.default_rng(0).normal(size=(2, 2, 8, 8)).astype(np.float32)
PAIR = UpgradePair("pytorch_program:file", "pytorch_program:file_aot")
#: PyTorch says so of the exporter that needs no other package.
pytestmark = pytest.mark.filterwarnings("ignore:You are using the legacy")
STEPS = ["conv2d", "tanh", "avg_pool2d", "sum_1", "zeros", "add"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file of the small program."""
    target = tmp_path_factory.mktemp("programs") / "file.pt2"
    save_pooling(target)
    return target


@pytest.fixture
def program(path):
    return read_program(path, 9, {})


def run(given, inputs, folder, library="pytorch_program", option="file"):
    """What a library computes of a program."""
    return run_file(given.content, inputs, folder, library, option)


def right():
    with torch.no_grad():
        return [o.numpy() for o in Pooling().eval()(torch.from_numpy(X))]


def test_a_program_has_steps_and_inputs_with_sizes(program, path):
    (spec,) = program.inputs
    assert (spec.label, spec.shape, spec.dtype) == ("pictures", (2, 2, 8, 8), "float32")
    (spec,) = read_program(path, 9, {"pictures": (5, 2, 8, 8)}).inputs
    assert spec.shape == (5, 2, 8, 8)
    titles = {name: node.label.split()[-1] for node in program.nodes for name in node.makes}
    assert list(titles.values()) == STEPS
    titles[spec.name] = spec.label
    assert program.nodes[2].label == "aten.avg_pool2d avg_pool2d"
    reads = [[titles[name] for name in node.reads] for node in program.nodes]
    assert reads[0] == ["pictures"] and reads[5] == ["sum_1", "zeros"]
    assert program.declared == ["float32"] * 2 and program.coarsest == "float32"
    assert {str(program.kinds()[name]) for name in titles} == {"float32"}
    assert program.references == file_references()[".pt2"] and program.fixed([X]) is program


def outputs_of(module, inputs):
    """Arrays that a module gives."""
    with torch.no_grad():
        return [y.numpy() for y in module(*map(torch.from_numpy, inputs))]


def test_every_value_is_put_out(program, path):
    every, names = read_program(path, 7, {}).exposing()
    assert [every.names.theirs(name) for name in names] == STEPS
    outputs = outputs_of(every.module, [X])
    assert len(outputs) == len(STEPS)
    np.testing.assert_array_equal(outputs[2], right()[1])


def test_a_part_is_a_program_of_its_own(program):
    (tanh,) = program.nodes[1].makes
    values = {tanh: np.tanh(X).astype(np.float32), program.inputs[0].name: X}
    part, inputs = program.part([2, 3], values.get)
    kinds = [node.label.split()[0] for node in part.nodes]
    assert kinds == ["aten.avg_pool2d", "aten.sum.dim_IntList"]
    assert [spec.name for spec in part.inputs] == [tanh] and inputs[0] is values[tanh]
    pooled = torch.nn.functional.avg_pool2d(torch.from_numpy(inputs[0]), 3, 2, 1, True, True)
    outputs = outputs_of(part.module, inputs)
    np.testing.assert_array_equal(outputs[0], pooled)  # the whole program puts it out too
    np.testing.assert_array_equal(outputs[1], pooled.sum((2, 3)))
    first, _ = program.part([0], values.get)  # with its weights
    assert len(constants_of(first.module)) == 2
    assert program.part([3], values.get) is None  # what it reads is not known


def test_the_program_in_float64(path):
    module = in_float64(torch.export.load(path).module(check_guards=False))
    assert all(c.dtype == torch.float64 for c in constants_of(module) if c.is_floating_point())
    outputs = outputs_of(module, [X.astype(np.float64)])
    assert [o.dtype for o in outputs] == [np.float64] * 2
    for ours, theirs in zip(outputs, right(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("option", PERTURBATIONS)
def test_the_perturbed_run_is_off_by_little(program, tmp_path, option):
    wide, (dtype, _) = [X.astype(np.float64)], PERTURBATIONS[option]
    exact, moved = (
        run(program, wide, tmp_path, "program_reference", way) for way in ("float64", option)
    )
    distance = np.abs(exact[0] - moved[0]).max()
    assert 0.01 * EPSILON[dtype] < distance < 100 * EPSILON[dtype]


def test_what_one_step_of_quantisation_moves_is_the_bound_of_a_quantised_program(program, tmp_path):
    torch.manual_seed(0)
    layers = (QuantisedLinear(torch.nn.Linear(*sizes), 8) for sizes in ((8, 16), (16, 3)))
    rows = torch.randn(6, 8)
    path = saved(torch.nn.Sequential(*layers).eval(), rows, tmp_path / "quantised.pt2")
    quantised = read_program(path, 9, {})
    assert quantised.quantises and not program.quantises
    given, wide = run(quantised, [rows.numpy()], tmp_path), [rows.double().numpy()]
    right, moved = (
        run(quantised, wide, tmp_path, "program_reference", option)
        for option in ("float64", STEPPED)
    )
    np.testing.assert_allclose(given[0], right[0], atol=1e-5)
    spread = np.abs(moved[0] - right[0]).max()
    for far, kind in ((0.0, "same"), (0.5, "within rounding"), (3.0, "now wrong")):
        outputs = {PAIR.old: given, PAIR.new: [given[0] + np.float32(far * spread)]}
        outputs |= {"program_reference:float64": right, f"program_reference:{STEPPED}": moved}
        assert judge_upgrade(quantised, made_result(outputs), PAIR, "normal", JUDGE).kind == kind


@pytest.mark.slow
def test_a_program_with_operators_of_torchao_is_rejected(tmp_path):
    quantisation = pytest.importorskip("torchao.quantization")
    net = torch.nn.Sequential(torch.nn.Linear(32, 3)).eval()
    quantisation.quantize_(net, quantisation.Int8DynamicActivationInt8WeightConfig())
    importlib.import_module("torchao.utils").unwrap_tensor_subclass(net)
    path = saved(net, torch.randn(4, 32), tmp_path / "m.pt2")
    with pytest.raises(UserError, match="TorchAO"):
        read_program(path, 9, {})


@pytest.mark.parametrize(
    ("library", "option"),
    [
        ("pytorch_program", "file"),
        pytest.param("pytorch_program", "file_aot", marks=pytest.mark.slow),
        ("onnx_program", "file"),
        ("onnx_program", "file_optimised"),
    ],
)
def test_libraries_run_programs(program, tmp_path, library, option):
    assert is_backend(f"{library}:{option}") and suffix_of(f"{library}:{option}") == ".pt2"
    for ours, theirs in zip(run(program, [X], tmp_path, library, option), right(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_hints_are_coarse():
    assert precision_of("openvino_program:file") is None
    assert precision_of("openvino_program:file_f16") == "bfloat16"


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"pictures": (2, 2, 9, 9)}, r"the input 'pictures' has the shape \?,2,8,8"),
        ({"pictures": (2, 2)}, r"the input 'pictures' has the shape"),
    ],
)
def test_shapes_that_a_program_cannot_have_are_rejected(path, shapes, said):
    with pytest.raises(UserError, match=said):
        read_program(path, 9, shapes)


class _Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(37, 4)

    def forward(self, ids, past, mask):
        joined = torch.cat([past, self.table(ids + 2)], 1)
        return (joined * mask[..., None]).sum(1)


def test_sizes_and_indices_of_a_program_fit_together(tmp_path):
    auto = torch.export.Dim.AUTO
    given = torch.zeros(3, 5, dtype=torch.int64), torch.zeros(3, 4, 4), torch.zeros(3, 9)
    free = ({0: auto, 1: auto},) * 3
    program = torch.export.export(_Decoder(), given, dynamic_shapes=free)
    torch.export.save(program, tmp_path / "m.pt2")
    ids, past, mask = read_program(tmp_path / "m.pt2", 16, {}).inputs
    assert (ids.shape, past.shape, mask.shape) == ((2, 16), (2, 16, 4), (2, 32))
    assert ids.bound == 35
    ids, past, mask = read_program(tmp_path / "m.pt2", 16, {"ids": (3, 2)}).inputs
    assert (ids.shape, past.shape, mask.shape) == ((3, 2), (3, 16, 4), (3, 18))


def test_sizes_stay_within_what_a_program_takes(tmp_path):
    free = {0: torch.export.Dim("n", min=3, max=9), 1: torch.export.Dim("m", min=2, max=7)}
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(4, 5),), dynamic_shapes=(free,))
    torch.export.save(program, tmp_path / "m.pt2")
    (spec,) = read_program(tmp_path / "m.pt2", 16, {}).inputs
    assert spec.shape == (3, 7)
