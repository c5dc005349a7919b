"""Which modules of a quantised network are to blame, and which stay in float."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch_programs import FEW, QuantisedLinear, exported, saved, trained_on_digits

from asterism.api.vetting import vet
from asterism.core.files.hashes import hash_path
from asterism.models.formats import open_runtime
from asterism.models.formats.torch_export import open_program, save_program
from asterism.models.torch_modules import ModuleRuntime
from asterism.vetting.module_pairs import exchange_parts, find_differing_parts, measure_part_errors
from asterism.vetting.quantised_graphs import choose_part_exchange

#: Of the inputs of a layer, as large as most of them.
STEP = 3.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 10)

    def forward(self, pixels):
        return self.head(self.body(pixels))


@pytest.fixture(scope="module")
def digits():
    return trained_on_digits(Net, (64,), 0.01)


def rounded(net, bits):
    """A copy with weights of few bits, of as many as the name of each says."""
    small = copy.deepcopy(net)
    with torch.no_grad():
        for name, weights in small.named_parameters():
            step = weights.abs().max() / 2 ** (bits.get(name.rpartition(".")[0], 8) - 1)
            weights.copy_((weights / step).round() * step)
    return small


def test_the_bad_module_is_blamed_and_left_in_float(digits, tmp_path):
    net, rows, labels = digits
    small = rounded(net, {"body.2": 2})
    low = [
        f"vet.thresholds.{name}"
        for name in ("agreement=0.96", "worst_class=0.7", "natural_flips=0.9", "accuracy_lost=0.2")
    ]
    found = vet(net, small, rows, labels, comparison="top_label", overrides=[*FEW, *low])
    assert found.verdict == "ship with the repair"
    assert found.agree < 0.97
    assert found.repair["blamed"][0]["node"] == "body.2"
    assert found.repair["kept_in_float"] == ["body.2"]
    assert found.repair["gone"] >= 0.8
    with torch.no_grad():
        mended = found.repaired(rows).argmax(1)
        by_hand = (mended != net(rows).argmax(1)).numpy()
    assert by_hand.mean() < found.differs.mean() / 5
    page = found.page(tmp_path / "page").read_text()
    for told in ("body.2", "filter_fn", "leave these modules in float"):
        assert told in page
    assert not (tmp_path / "page/repaired.onnx").exists()


def test_what_is_exchanged_leaves_both_models_as_they_are(digits):
    net, rows, _ = digits
    small = rounded(net, {"body.2": 2, "head": 2})
    with torch.no_grad():
        before = small(rows)
        both = exchange_parts(small, net, ["body.2", "head"])
        whole = exchange_parts(small, net, [part.name for part in find_differing_parts(net, small)])
        assert torch.equal(whole(rows), net(rows))
        assert not torch.equal(both(rows), before)
        assert torch.equal(small(rows), before)
    assert type(small.body[2]) is nn.Linear


def test_errors_are_those_counted_by_hand(digits):
    net, rows, _ = digits
    small = rounded(net, {"body.2": 3})
    runtimes = [ModuleRuntime(module, "net", rows.numpy()) for module in (net, small)]
    ask = tuple(lambda r=r: r.run({"pixels": rows[:20].numpy()}) for r in runtimes)
    errors = {
        e.node: e for e in measure_part_errors(net, small, find_differing_parts(net, small), ask)
    }
    assert list(errors) == ["body.0", "body.2", "head"]
    with torch.no_grad():
        wanted, given = (module.body[:3](rows[:20]) for module in (net, small))
        alone = small.body[2](net.body[:2](rows[:20]))
    for value, told in ((given, errors["body.2"].cumulative), (alone, errors["body.2"].own)):
        by_hand = float((value - wanted).double().norm() / wanted.double().norm())
        assert told.relative_l2 == pytest.approx(by_hand, rel=1e-4)


class Steps(nn.Module):
    def forward(self, x):
        return (16 * x.relu()).round().to(torch.int32)


class OfSteps(nn.Linear):
    def forward(self, x):
        if x.dtype != torch.int32:
            raise TypeError(f"{x.dtype} are no steps")
        return super().forward(x / 16)


def test_a_part_that_takes_quantised_tensors_only_has_no_error_of_its_own(digits):
    net, rows, _ = digits
    small = copy.deepcopy(net)
    small.body[1], small.body[2].__class__ = Steps(), OfSteps
    ask = tuple(lambda module=module: module(rows[:20]) for module in (net, small))
    errors = measure_part_errors(net, small, find_differing_parts(net, small), ask)
    assert {error.node: error.own is None for error in errors} == {"body.1": False, "body.2": True}


def test_dynamically_quantised_and_half_precision_modules_are_mended(digits):
    net, rows, _ = digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dynamic = torch.ao.quantization.quantize_dynamic(copy.deepcopy(net), {nn.Linear})
    for small in (dynamic, copy.deepcopy(net).to(torch.bfloat16)):
        names = [part.name for part in find_differing_parts(net, small)]
        assert names == ["body.0", "body.2", "head"]
        whole = ModuleRuntime(exchange_parts(small, net, names), "net", rows.numpy())
        (found,) = whole.run({whole.input: rows[:9].numpy()}).values()
        with torch.no_grad():
            np.testing.assert_allclose(found, net(rows[:9]).numpy(), rtol=0.02, atol=0.05)


def test_a_pair_without_parts_that_differ_says_so(digits):
    net, rows, labels = digits
    far = lambda pixels: net(torch.tensor(pixels)).detach().numpy()[:, ::-1]  # noqa: E731
    found = vet(net, far, rows[:100], labels[:100], comparison="top_label", overrides=FEW)
    assert "two modules of PyTorch" in found.repair["reason"]
    assert found.repaired is None


@pytest.fixture(scope="module")
def graph(digits):
    """The network as a quantised graph, in which one layer reads inputs of large steps."""
    small = copy.deepcopy(digits[0])
    small.body[0] = QuantisedLinear(small.body[0], 8)
    small.body[2] = QuantisedLinear(small.body[2], 8, given=STEP)
    small.head = QuantisedLinear(small.head, 8)
    return exported(small, digits[1]).module()


def test_the_bad_layer_of_a_quantised_graph_is_blamed_and_left_in_float(digits, graph):
    net, rows, labels = digits
    found = vet(net, graph, rows, labels, comparison="top_label", overrides=FEW)
    assert found.repair["blamed"][0] | {"explained": 0} == {
        "node": "body.2",
        "operator": "linear",
        "explained": 0,
    }
    assert found.repair["kept_in_float"] == ["body.2"]
    with torch.no_grad():
        wrong = (found.repaired(rows).argmax(1) != net(rows).argmax(1)).double().mean()
    assert wrong < found.differs.mean() / 4


def test_all_of_a_graph_in_float_is_the_original_and_errors_are_those_by_hand(digits, graph):
    net, rows, _ = digits
    pair = choose_part_exchange(net, graph)
    assert [part.name for part in pair.parts] == ["body.0", "body.2", "head"]
    with torch.no_grad():
        before = graph(rows)
        whole = pair.in_float(["body.0", "body.2", "head"])
        torch.testing.assert_close(whole(rows), net(rows))
        errors = pair.errors(lambda module: module(rows), lambda module: module(rows))
        assert torch.equal(graph(rows), before)
        wanted = net.body[:3](rows)
        layer = QuantisedLinear(net.body[2], 8, given=STEP)
        alone = layer(net.body[:2](rows))
    (error,) = (e for e in errors if (e.node, e.operator) == ("body.2", "linear"))
    by_hand = float((alone - wanted).double().norm() / wanted.double().norm())
    assert error.own.relative_l2 == pytest.approx(by_hand, rel=1e-4)
    assert error.cumulative.relative_l2 > 0.9 * by_hand


@pytest.fixture(scope="module")
def uneven(digits):
    """The same network with one channel that is a thousand times as large as the others."""
    net = copy.deepcopy(digits[0])
    with torch.no_grad():
        net.body[0].weight[3] *= 1000
        net.body[0].bias[3] *= 1000
        net.body[2].weight[:, 3] /= 1000
    return net


@pytest.mark.slow
def test_weights_with_few_scales_get_one_for_each_channel_before_any_is_left_in_float(
    digits, uneven, tmp_path
):
    _, rows, labels = digits
    small = copy.deepcopy(uneven)
    small.body[0] = QuantisedLinear(small.body[0], 8, whole=True)
    files = saved(uneven, rows, tmp_path / "net.pt2"), saved(small, rows, tmp_path / "small.pt2")
    found = vet(*files, rows, labels, comparison="top_label", overrides=FEW)
    assert found.agree < 0.9
    assert (found.repair["kept_in_float"], found.repair["with_finer_scales"]) == ([], ["body.0"])
    page = found.page(tmp_path / "page")
    assert "PerChannelMinMaxObserver" in page.read_text()
    repaired = page.with_name("repaired.pt2")
    assert hash_path(repaired) == found.repair["sha256"]
    assert repaired.stat().st_size < files[1].stat().st_size * 1.1
    module = torch.export.load(repaired).module()
    with torch.no_grad():
        alike = (module(rows).argmax(1) == uneven(rows).argmax(1)).double().mean()
    assert alike > 0.98


@pytest.mark.slow
def test_a_file_is_repaired_as_the_module_is(digits, graph, tmp_path):
    net, rows, labels = digits
    files = saved(net, rows, tmp_path / "net.pt2"), saved(graph, rows, tmp_path / "small.pt2")
    found = vet(*files, rows, labels, comparison="top_label", overrides=FEW)
    assert found.repair["blamed"][0]["node"] == "body.2"
    assert found.repair["kept_in_float"] == ["body.2"]
    assert found.repaired is None
    repaired = open_runtime(found.page(tmp_path / "page").with_name("repaired.pt2"))
    (given,) = repaired.signature.inputs
    assert (given.name, given.shape) == ("pixels", (None, 64))
    (answers,) = repaired.run({"pixels": rows.numpy()}).values()
    with torch.no_grad():
        wanted = choose_part_exchange(net, graph).in_float(["body.2"])(rows)
    np.testing.assert_allclose(answers, wanted, atol=1e-5)


def test_a_repaired_program_is_written_in_the_same_bytes(digits, graph, tmp_path):
    net, rows, _ = digits
    file = open_program(saved(graph, rows, tmp_path / "small.pt2"))
    written = []
    for _ in range(2):
        pair = choose_part_exchange(net, file.plain, (str, file.named))
        runtime = file.running(pair.in_float(["head"]))
        save_program(runtime.program({"pixels": rows[:2].numpy()}), tmp_path / "repaired.pt2")
        written.append((tmp_path / "repaired.pt2").read_bytes())
    assert written[0] == written[1]


class Saturated(nn.Module):
    """Sigmoids so steep that most answers are next to 0 or 1, whatever lies beside an input."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return torch.sigmoid(50 * self.net(x))


@pytest.mark.parametrize(
    ("head", "comparison"), [(nn.Identity, "top_label"), (Saturated, "multi_label")]
)
def test_a_module_whose_answers_depend_on_others_is_asked_one_by_one(digits, head, comparison):
    net, rows, _ = digits
    net = nn.Sequential(net) if head is nn.Identity else head(net)
    dynamic = torch.ao.quantization.quantize_dynamic(net, {nn.Linear})
    plain, alone = (ModuleRuntime(module, "net", rows.numpy()) for module in (net, dynamic))
    assert (plain.fixed_batch, alone.fixed_batch) == (None, 1)
    found = vet(net, dynamic, rows[:100], comparison=comparison, overrides=FEW)
    with torch.no_grad():
        by_hand = np.concatenate([dynamic(row[None]).numpy() for row in rows[:100]])
    np.testing.assert_array_equal(found.compressed, by_hand)


class Attention(nn.Module):
    """Scores of classes by a layer of attention."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.attention(x, x, x, need_weights=False)[0].mean(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_is_exchanged_with_all_that_it_reads(dtype):
    torch.manual_seed(0)
    net, rows = Attention().eval(), torch.randn(6, 5, 8)
    small = rounded(net, {"attention": 2}).to(dtype)
    (part,) = (p for p in find_differing_parts(net, small) if p.name.startswith("attention"))
    assert part.name == "attention"
    every = [part.name for part in find_differing_parts(net, small)]
    mended = exchange_parts(small, net, every)
    with torch.no_grad():
        found, wanted = mended(rows.to(dtype)).float(), net(rows)
    np.testing.assert_allclose(found, wanted, atol=0.02 if dtype == torch.bfloat16 else 1e-6)
    follow = [lambda m=m, d=d: m(rows.to(d)) for m, d in ((net, torch.float32), (small, dtype))]
    errors = measure_part_errors(net, small, find_differing_parts(net, small), follow)
    assert {e.node for e in errors} == {"attention", "out"}
    assert all(e.own is not None for e in errors)
