"""Models that TorchAO compressed, as modules, as graphs and as files: opened, vetted, repaired."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch_programs import FEW, exported, saved, trained_on_digits

from asterism.api.vetting import vet
from asterism.compression.methods.torch_modules import quantise_graph
from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_operators import import_quietly
from asterism.models.formats import open_runtime
from asterism.models.formats.torch_export import open_program, save_program
from asterism.models.signatures.reading import read_signature
from asterism.vetting.quantised_graphs import choose_part_exchange
from thinning import every


class Net(nn.Module):
    """Convolutions with a normalisation, which PT2E folds into the first."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.body = nn.Sequential(nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 10)

    def forward(self, pictures):
        return self.head(self.body(self.norm(self.conv(pictures)).relu().flatten(1)))


@pytest.fixture(scope="module")
def digits():
    return trained_on_digits(Net, (1, 8, 8), 0.005, steps=60)


def configuration(name):
    quantisation = import_quietly("torchao.quantization")
    return {
        "dynamic": lambda: quantisation.Int8DynamicActivationInt8WeightConfig(),
        "weights": lambda: quantisation.Int8WeightOnlyConfig(),
        "four_bits": lambda: quantisation.IntxWeightOnlyConfig(weight_dtype=torch.int4),
        "both": lambda: quantisation.Int8DynamicActivationIntxWeightConfig(),
    }[name]()


def quantised(net, name, only=None):
    """A copy whose dense layers are quantised, all or those of these names."""
    small = copy.deepcopy(net)
    chosen = lambda part, where: isinstance(part, nn.Linear) and (only is None or where in only)  # noqa: E731
    import_quietly("torchao.quantization").quantize_(small, configuration(name), chosen)
    return small


@pytest.mark.parametrize("name", every(4, ["dynamic", "weights", "four_bits", "both"]))
def test_a_file_of_a_quantised_module_gives_the_same(name, digits, tmp_path):
    net, rows, _ = digits
    small = quantised(net, name)
    with torch.no_grad():
        wanted = small(rows[:9]).numpy()
    import_quietly("torchao.utils").unwrap_tensor_subclass(small)
    path = saved(small, rows, tmp_path / "small.pt2")
    (found,) = open_runtime(path).run({"pictures": rows[:9].numpy()}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert read_signature(path).operators > 5


@pytest.mark.parametrize(("name", "coarse"), [("four_bits", True), ("both", False)])
def test_a_file_of_a_quantised_module_is_put_into_float_in_part(name, coarse, digits, tmp_path):
    net, rows, _ = digits
    small = quantised(net, name)
    import_quietly("torchao.utils").unwrap_tensor_subclass(small)
    programs = []
    for module in (net, small):
        programs.append(open_program(saved(module, rows, tmp_path / "model.pt2")))
    given = {"pictures": rows[:9].numpy()}
    wanted, before = (next(iter(program.run(given).values())) for program in programs)
    original, compressed = programs
    named = original.named, compressed.named
    pair = choose_part_exchange(original.plain, compressed.plain, named)
    names = ["body.0", "body.2", "head"]
    assert [part.name for part in pair.parts] == names
    assert list(pair.coarse) == (names if coarse else [])
    for floats, finer, share in (((), pair.coarse, 0.3 if coarse else 1), (names, (), 1e-3)):
        runtime = compressed.running(pair.in_float(floats, finer))
        save_program(runtime.program(given), tmp_path / "repaired.pt2")
        (found,) = open_program(tmp_path / "repaired.pt2").run(given).values()
        assert np.abs(found - wanted).max() <= share * np.abs(before - wanted).max() + 1e-6


def test_a_file_with_wrapped_weights_is_not_opened(digits, tmp_path):
    """They are pickled."""
    net, rows, _ = digits
    path = saved(quantised(net, "weights"), rows, tmp_path / "small.pt2")
    with pytest.raises(UserError, match="unwrap_tensor_subclass"):
        open_runtime(path)


def x86_quantiser(**options):
    """PT2E's quantiser of all layers that it knows."""
    x86 = import_quietly("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    quantiser = x86.X86InductorQuantizer()
    return quantiser.set_global(x86.get_default_x86_inductor_quantization_config(**options))


def graph_by(quantiser, net, rows):
    pt2e = import_quietly("torchao.quantization.pt2e.quantize_pt2e")
    prepared = pt2e.prepare_pt2e(exported(net, rows).module(), quantiser)
    prepared(rows)
    converted = pt2e.convert_pt2e(prepared)
    return torch.fx.GraphModule(converted, converted.graph)


def dynamic_graph(net, rows):
    """A graph in which PT2E quantised the dense layers, with the ranges of each call."""
    return graph_by(x86_quantiser(is_dynamic=True), net, rows)


@pytest.mark.parametrize("quantise", every(2, [quantise_graph, dynamic_graph]))
def test_a_file_of_a_graph_gives_the_same(quantise, digits, tmp_path):
    net, rows, _ = digits
    graph = quantise(net, rows)
    with torch.no_grad():
        wanted = graph(rows[:9]).numpy()
    path = saved(graph, rows, tmp_path / "g.pt2")
    (found,) = open_runtime(path).run({"pictures": rows[:9].numpy()}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert read_signature(path).quantised > 5


def roughened(net):
    """A copy with one layer of few bits."""
    rough = copy.deepcopy(net)
    weights = rough.body[2].weight
    with torch.no_grad():
        step = weights.abs().max() / 2
        weights.copy_((weights / step).round() * step)
    return rough


@pytest.mark.parametrize("name", every(3, ["four_bits", "dynamic", "weights"]))
def test_the_bad_module_is_blamed_and_the_told_lines_repair_it(name, digits, tmp_path):
    net, rows, labels = digits
    small = quantised(roughened(net), name)
    found = vet(net, small, rows, labels, comparison="top_label", overrides=FEW)
    assert found.repair["blamed"][0]["node"] == "body.2"
    kept = found.repair["kept_in_float"]
    assert "body.2" in kept
    assert found.repair["gone"] >= 0.7
    again = copy.deepcopy(net)
    scope = {
        "torch": torch,
        "model": again,
        "config": configuration(name),
        "quantize_": import_quietly("torchao.quantization").quantize_,
        "kept": kept,
    }
    exec(found.repair["applied_by"], scope)
    with torch.no_grad():
        torch.testing.assert_close(again(rows), found.repaired(rows))
    assert "body.2" in found.page(tmp_path / "page").read_text()


@pytest.mark.parametrize("quantise", [quantise_graph, dynamic_graph])
def test_all_of_a_graph_in_float_is_the_original(quantise, digits):
    net, rows, _ = digits
    graph = quantise(net, rows)
    pair = choose_part_exchange(net, graph)
    names = [part.name for part in pair.parts]
    assert names == ["conv", "body.0", "body.2", "head"]
    with torch.no_grad():
        torch.testing.assert_close(pair.in_float(names)(rows), net(rows), rtol=1e-4, atol=1e-4)
        errors = pair.errors(lambda module: module(rows), lambda module: module(rows))
    assert {e.node for e in errors if e.own is not None} == set(names)
    assert all(0 < e.own.relative_l2 < 0.05 for e in errors if e.own is not None)


def test_the_told_line_leaves_modules_in_float_as_the_repair_does(digits):
    net, rows, _ = digits
    pair = choose_part_exchange(net, graph_by(x86_quantiser(), net, rows))
    scope = {"quantizer": x86_quantiser(), "kept": ["body.2", "head"]}
    exec(pair.applied_by, scope)
    told = graph_by(scope["quantizer"], net, rows)
    with torch.no_grad():
        torch.testing.assert_close(
            told(rows), pair.in_float(scope["kept"])(rows), rtol=1e-4, atol=1e-4
        )


def test_exported_programs_are_repaired_too(digits):
    """The program of a graph has no names of modules: its weights tell what it was made of."""
    net, rows, labels = digits
    original = exported(net, rows)
    small = exported(quantise_graph(roughened(net), rows), rows)
    found = vet(original, small, rows, labels, comparison="top_label", overrides=FEW)
    assert found.repair["blamed"][0]["node"] == "body.2"
    assert "body.2" in found.repair["with_finer_scales"]
    with torch.no_grad():
        wrong = (found.repaired(rows).argmax(1) != net(rows).argmax(1)).double().mean()
    assert wrong < found.differs.mean() / 3
    pair = choose_part_exchange(original.module(), small.module())
    with torch.no_grad():
        whole = pair.in_float([part.name for part in pair.parts])(rows)
    torch.testing.assert_close(whole, net(rows), rtol=1e-4, atol=1e-4)
