"""Localising and repairing: small trained networks, quantised, and damaged at single nodes."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from damages import KINDS, cases
from localised import localise, repaired_damages
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16
from quantised_networks import EXACT, NETWORKS, QUANTISATIONS, digits, model, quantised, trained

from asterism.core.messages.errors import UserError
from asterism.localisation.finer_scales import FinerScales
from asterism.localisation.hybrids import hybrid_model
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs, pair_graphs
from asterism.localisation.repair import build_repair_curve, judge_repaired_file
from asterism.localisation.running import Session, batches
from asterism.localisation.scales import collect_observed_values
from asterism.localisation.tensor_errors import RunningSums, measure_tensor_errors
from onnx_texts import onnx_model
from thinning import every


def inputs(count=60, first=1400):
    return batches({"images": digits()[0][first : first + count]}, 20)


def probabilities(outputs):
    scores = np.exp(outputs["logits"] - outputs["logits"].max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def difference(original, compressed):
    """Half the L1 distance of the probabilities, on each input."""
    return np.abs(probabilities(original) - probabilities(compressed)).sum(axis=1) / 2


def matched(network, how):
    return match_nodes(pair_graphs(model(trained(network)), model(quantised(network, how))))


PAIRS = [(network, how) for network in NETWORKS for how in QUANTISATIONS]


@EXACT
@pytest.mark.parametrize(("network", "how"), every(2, PAIRS))
def test_no_node_in_float_is_the_compressed_model_and_all_are_the_original(network, how):
    pair = matched(network, how)
    feed = inputs()[0]
    wanted, given = (
        Session(content(network, how), "as it is").run(feed)["logits"]
        for content in (lambda network, how: trained(network), quantised)
    )
    nodes = range(len(pair.nodes))
    none, every = (
        Session(hybrid_model(pair, s), "hybrid").run(feed)["logits"] for s in ((), nodes)
    )
    assert np.abs(every - wanted).max() < 1e-4
    # Integer kernels and their float twins round some halves differently: a step of the output.
    assert np.abs(none - given).max() <= 0.05 * np.abs(given).max()
    assert np.abs(given - wanted).max() > 1e-3


@pytest.mark.parametrize(("network", "how"), PAIRS)
def test_every_weighted_node_is_found_under_its_name(network, how):
    pair = matched(network, how)
    weighted = {
        node.name for node in model(trained(network)).graph.node if node.op_type in ("Conv", "Gemm")
    }
    assert weighted <= {node.name for node in pair.nodes}
    positions = [node.position for node in pair.nodes]
    assert positions == sorted(positions)


def test_own_errors_are_those_of_a_node_that_takes_the_originals_tensors():
    """The slow twin: each node alone in the original, by a hybrid in which all others are float."""
    pair = matched("convolutional", "per_tensor")
    errors = {e.tensor: e for e in measure_tensor_errors(pair, inputs())}
    feed = inputs(20)[0]
    for index, node in enumerate(pair.nodes):
        others = [i for i in range(len(pair.nodes)) if i != index]
        graph = hybrid_model(pair, others)
        outputs = Session(graph, "all others in float").run(feed)["logits"]
        wanted = Session(trained("convolutional"), "original").run(feed)["logits"]
        assert np.abs(outputs - wanted).max() > 0
        if "logits" in node.outputs:
            few = {e.tensor: e for e in measure_tensor_errors(pair, [feed])}["logits"].own
            noise = np.linalg.norm(outputs - wanted) / np.linalg.norm(wanted)
            assert few is not None
            assert few.relative_l2 == pytest.approx(noise, rel=0.02)
            assert few.largest == pytest.approx(np.abs(outputs - wanted).max(), rel=0.02)
            assert few.sqnr_db == pytest.approx(-20 * np.log10(noise), abs=0.2)
    assert all(e.own is not None for e in errors.values() if e.quantised is not None)
    assert errors["logits"].cumulative.sqnr_db < errors["images"].cumulative.sqnr_db


#: Of each pair every so many cases, so that all kinds and positions come up.
DAMAGED = [
    ("convolutional", "per_tensor", 3),
    ("convolutional", "qoperator", 5),
    ("convolutional", "dynamic", 4),
    ("residual", "per_channel", 15),
    pytest.param("attention", "per_tensor", 23, marks=pytest.mark.slow),
    pytest.param("residual", "uint8", 5, marks=pytest.mark.slow),
]


def test_errors_of_tensors_without_an_axis_are_measured():
    sums = RunningSums()
    for wanted, given in ((2.0, 1.5), (np.inf, np.inf), (1.0, 1.0)):
        sums.add(np.float32(wanted), np.float32(given))
    assert sums.noise == 0.25
    assert sums.largest == 0.5


@pytest.mark.parametrize(("network", "how", "step"), every(2, DAMAGED))
def test_a_damaged_node_is_ranked_first_and_its_repair_removes_the_damage(network, how, step):
    compressed = model(quantised(network, how))
    few = list(cases(compressed))[::step]
    original = model(trained(network))
    repaired = list(repaired_damages(original, compressed, few, inputs(), difference))
    assert len(repaired) >= 4


def test_the_table_of_damages_covers_every_kind():
    made = {(site.part, kind) for site, kind, _ in cases(model(quantised("residual", "uint8")))}
    assert made == {(part, kind) for part, kinds in KINDS.items() for kind in kinds}


def test_repaired_files_are_valid_keep_the_opset_and_are_the_same_bytes_every_time():
    for how in ("per_channel", "dynamic"):
        pair = matched("convolutional", how)
        one, other = (build_repair_curve(pair, inputs(), difference, 12, most=2) for _ in range(2))
        assert [f.content for f in one.files] == [f.content for f in other.files]
        assert len({f.content for f in one.files}) == len(one.files) > 4
        for file in one.files:
            onnx.checker.check_model(file.content, full_check=True)
            repaired, given = model(file.content), model(quantised("convolutional", how))
            opsets = {e.domain: e.version for e in repaired.opset_import}
            assert opsets.items() >= {(e.domain, e.version) for e in given.opset_import} - {
                ("ai.onnx.ml", 1)
            }
            session = Session(file.content, "repaired")
            assert session.run(inputs()[0])["logits"].shape == (20, 10)


def test_the_curve_repairs_more_with_more_nodes_and_holds_on_other_inputs():
    pair = matched("convolutional", "per_tensor")  # one whose errors few nodes make
    curve = build_repair_curve(pair, inputs(), difference, 40, most=5)
    errors = [f.error for f in curve.files if not f.finer]
    assert errors[0] == 1.0
    assert errors[-1] < 0.3
    best = max(curve.files, key=lambda f: f.gone)
    base, repaired = judge_repaired_file(best.content, pair, inputs(60, 1500), difference)
    assert repaired.deviation < 0.6 * base.deviation
    assert curve.smallest(best.expected) is not None
    assert curve.smallest(2.0) is None


def test_evaluations_are_counted_and_never_exceed_the_budget():
    pair = matched("residual", "per_tensor")
    for evaluations in (3, 8, 40):
        found = localise(pair, inputs(), difference, evaluations, most=3)
        assert found.evaluations <= evaluations
        assert sorted(r.index for r in found.ranking) == list(range(len(pair.nodes)))
    tried = [r for r in localise(pair, inputs(), difference, 8).ranking if r.explained is not None]
    assert 0 < len(tried) < len(pair.nodes)


def test_with_little_memory_the_outputs_of_the_best_trials_are_kept(monkeypatch):
    pair = matched("residual", "per_tensor")
    wanted = localise(pair, inputs(), difference, 40, most=2)
    monkeypatch.setattr("asterism.localisation.trials._ROOM", 0)
    found = localise(pair, inputs(), difference, 40, most=2)
    assert found.ranking == wanted.ranking
    assert found.order[0] == wanted.order[0]
    assert len(found.trials) == 3


def test_an_error_that_comes_from_activations_needs_wide_outputs():
    """Outputs of 16 bits leave the error of the weights alone."""
    pair = matched("convolutional", "per_channel")
    curve = build_repair_curve(pair, inputs(), difference, 20, most=1)
    wide = next(f for f in curve.files if f.bits == 16 and not f.floats)
    narrow = next(f for f in curve.files if f.bits == 8 and len(f.finer) == len(wide.finer))
    assert wide.error < 0.5 * narrow.error
    assert wide.size < 1.2 * narrow.size


def test_a_gemms_bias_may_have_two_axes(tmp_path):
    """Its channels are along the last one, so its new scales are too."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(6, 5)), "b": rng.normal(size=(1, 5))}
    original = onnx_model(
        "(float[n,6] x) => (float[n,5] y) { [gemm] y = Gemm (x, w, b) }",
        **{name: values.astype(np.float32) for name, values in weights.items()},
    )
    items = rng.normal(size=(40, 6)).astype(np.float32)
    onnx.save(original, tmp_path / "original.onnx")
    feeds = iter([{"x": item[np.newaxis]} for item in items])
    reader = SimpleNamespace(get_next=lambda: next(feeds, None), set_range=None)
    quantize_static(tmp_path / "original.onnx", tmp_path / "int8.onnx", reader)
    pair = match_nodes(open_graphs(tmp_path / "original.onnx", tmp_path / "int8.onnx"))
    finer = FinerScales(pair, collect_observed_values(pair, batches({"x": items}, 20)))
    graph = finer.applied(finer.possible).opened.compressed
    session = Session(graph.model, "finer scales", optimised=False)
    answers = session.run({"x": items})["y"]
    expected = items @ weights["w"] + weights["b"]
    assert np.abs(answers - expected).max() < 0.1


def test_labels_serve_as_a_deviation():
    """A deviation may be yes or no for each input."""
    site, _, broken = next(
        case for case in cases(model(quantised("convolutional", "per_tensor"))) if case[1] == "axis"
    )
    pair = match_nodes(pair_graphs(model(trained("convolutional")), broken))

    def relabelled(original, compressed):
        return original["logits"].argmax(axis=1) != compressed["logits"].argmax(axis=1)

    found = localise(pair, inputs(), relabelled, 10, most=1)
    assert site.part == "weight"
    assert found.ranking[0].node == site.node
    assert found.ranking[0].explained > 0.9


def test_names_without_the_enclosing_module_and_other_names_are_matched():
    renamed = model(quantised("convolutional", "per_tensor"))
    for node in renamed.graph.node:
        for names in (node.input, node.output):
            names[:] = [n.replace("/5/", "/network/5/").replace("/8/", "/x/dense") for n in names]
    for tensor in renamed.graph.initializer:
        tensor.name = tensor.name.replace("/5/", "/network/5/").replace("/8/", "/x/dense")
    pair = match_nodes(pair_graphs(model(trained("convolutional")), renamed))
    known = matched("convolutional", "per_tensor")
    assert [node.name for node in pair.nodes] == [node.name for node in known.nodes]


def test_weights_that_were_rounded_and_stored_as_floats_are_found():
    rounded = model(trained("convolutional"))
    weights = next(t for t in rounded.graph.initializer if t.name == "2.weight")
    values = onnx.numpy_helper.to_array(weights).astype(np.float16).astype(np.float32)
    weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
    pair = match_nodes(pair_graphs(model(trained("convolutional")), rounded))
    assert [node.name for node in pair.nodes] == ["/2/Conv"]
    found = localise(pair, inputs(), difference, 3)
    assert found.ranking[0].explained > 0.99


def test_half_precision_is_exchanged_node_by_node():
    half = convert_float_to_float16(model(trained("convolutional")))
    pair = match_nodes(pair_graphs(model(trained("convolutional")), half))
    assert {"/0/Conv", "/2/Conv", "/5/Conv", "/8/Gemm", "/10/Gemm"} <= {n.name for n in pair.nodes}
    feed = inputs()[0]
    every = Session(hybrid_model(pair, range(len(pair.nodes))), "all in float").run(feed)["logits"]
    wanted = Session(trained("convolutional"), "original").run(feed)["logits"]
    assert np.abs(every - wanted).max() < 2e-3 * np.abs(wanted).max()  # the output has 16 bits
    curve = build_repair_curve(pair, inputs(), difference, 40, most=len(pair.nodes))
    assert max(f.gone for f in curve.files) > 0.15  # the rest is the output's own rounding


def test_files_that_are_no_pair_are_rejected_in_one_line(tmp_path):
    first, second = tmp_path / "original.onnx", tmp_path / "compressed.tflite"
    first.write_bytes(trained("convolutional"))
    second.write_bytes(b"")
    with pytest.raises(UserError, match=r"compressed\.tflite"):
        open_graphs(first, second)
    other = model(quantised("convolutional", "per_tensor"))
    other.graph.output.append(other.graph.output[0])
    other.graph.output[1].name = other.graph.node[0].output[0]
    with pytest.raises(UserError, match=r"1 outputs and .* has 2"):
        pair_graphs(model(trained("convolutional")), other)
