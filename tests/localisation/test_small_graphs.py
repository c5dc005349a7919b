"""Parts of localising on graphs of a few nodes, written by hand."""

from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, checker, helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.localisation import repair
from asterism.localisation.graph import Graph, assembled, cone, imports_of, ordered, renamed
from asterism.localisation.hybrids import checked, hybrid
from asterism.localisation.matching import axis_of, constant_value, dequantised
from asterism.localisation.qoperators import QuantisedOperators, without_constant_nodes
from asterism.localisation.quantised_nodes import match, taken_by
from asterism.localisation.reading import open_pair, pair_of, with_outputs
from asterism.localisation.repair import RepairCurve, RepairedFile, latency
from asterism.localisation.running import Session, batches, side_by_side
from asterism.localisation.tensor_errors import Difference, Sums, own_noise, tensor_errors
from asterism.localisation.trials import Budget, Laboratory, Trial, _moved_by, localise

OPSET = 17
FLOAT = TensorProto.FLOAT


def value(name, *shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def net(nodes, inputs, outputs, constants=(), opset=OPSET, more=()):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset), *more]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


W = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], np.float32)
V = np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 1.0]], np.float32)


def two_products(first=W, second=V):
    """``y = relu(x·first)·second``; only its first product has a name."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "first"),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"], "second"),
    ]
    constants = [constant("w", first), constant("v", second)]
    return net(nodes, [value("x", "n", 2)], [value("y", "n", 2)], constants)


def rounded(values):
    return (np.rint(values * 2) / 2 + 0.25).astype(np.float32)


X = np.array([[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0]], np.float32)


def products_of(first, second, x=X):
    return np.maximum(x @ first, 0) @ second


@pytest.fixture(scope="module")
def pair():
    return match(pair_of(two_products(), two_products(rounded(W), rounded(V))))


def signed(original, compressed):
    """Not the same in both directions: what the other's first number is above the original's."""
    return np.maximum(compressed["y"] - original["y"], 0)[:, 0]


# ---- graphs


def test_a_graph_knows_its_nodes_by_their_names_and_tensors():
    model = two_products()
    model.graph.node.add(op_type="Split", input=["r"], output=["", "part"])
    graph = Graph(model)
    assert [graph.name_of(i) for i in range(3)] == ["first", "r", "second"]
    assert graph.maker == {"h": 0, "r": 1, "y": 2, "part": 3}
    assert graph.takers == {"x": [0], "w": [0], "h": [1], "r": [2, 3], "v": [2]}
    assert graph.varying == {"x", "h", "r", "y", "part"}
    assert (graph.inputs, graph.outputs) == (["x"], ["y"])
    assert graph.maker_of("r").op_type == "Relu"
    assert graph.maker_of("x") is None
    assert graph.value("w").tolist() == W.tolist()
    assert graph.value("h") is None


def test_initialisers_may_be_declared_as_inputs_and_random_nodes_vary():
    nodes = [
        helper.make_node("RandomNormal", [], ["noise"], shape=[2]),
        helper.make_node("Add", ["a", "a"], ["twice"]),
        helper.make_node("Add", ["x", "noise"], ["y"]),
    ]
    model = net(nodes, [value("a", 2), value("x", 2)], [value("y", 2)], [constant("a", [1.0, 2])])
    graph = Graph(model)
    assert graph.inputs == ["x"]
    assert graph.varying == {"x", "noise", "y"}
    assert graph.takers["a"] == [1]


def test_operator_sets_are_told_by_domain():
    model = net([], [], [], more=[helper.make_opsetid("com.microsoft", 1)])
    graph = Graph(model)
    assert (graph.opset(), graph.opset("ai.onnx"), graph.opset("com.microsoft")) == (
        OPSET,
        OPSET,
        1,
    )
    assert graph.opset("elsewhere") == 0
    model.opset_import[0].domain = "ai.onnx"
    assert (Graph(model).opset(), imports_of(model)) == (OPSET, {"": OPSET, "com.microsoft": 1})


def branching():
    """A node with an inner graph, which takes ``x`` and ``c`` from outside."""
    inner = helper.make_graph(
        [helper.make_node("Add", ["x", "own"], ["z"]), helper.make_node("Mul", ["z", "c"], ["m"])],
        "then",
        [],
        [value("m", 2)],
        [constant("own", np.float32([1, 1]))],
    )
    other = helper.make_graph([], "else", [], [value("c", 2)])
    return helper.make_node("If", ["flag"], ["y"], then_branch=inner, else_branch=other)


def test_renaming_reaches_inner_graphs_but_not_their_own_tensors():
    node = branching()
    names = {"x": "x2", "own": "no", "z": "no", "c": "c2", "m": "no", "y": "no", "flag": "f2"}
    found = renamed(node, names)
    inner, other = (
        next(a.g for a in found.attribute if a.name == name)
        for name in ("then_branch", "else_branch")
    )
    assert list(found.input) == ["f2"]
    assert list(found.output) == ["y"]
    assert [list(part.input) for part in inner.node] == [["x2", "own"], ["z", "c2"]]
    assert [o.name for o in inner.output] == ["m"]
    assert [o.name for o in other.output] == ["c2"]
    assert node == branching()
    graph = Graph(net([node], [value("x", 2), value("flag")], [value("y", 2)]))
    assert graph.takers == {"flag": [0], "x": [0], "c": [0]}


def test_nodes_are_ordered_by_what_they_take_then_by_place():
    make = helper.make_node
    nodes = [
        make("Add", ["c", "b"], ["d"]),
        make("Neg", ["x"], ["b"]),
        make("Abs", ["b"], ["c"]),
        make("Exp", ["x"], ["e"]),
    ]
    assert ordered(nodes) == [1, 2, 0, 3]
    graph = Graph(net(nodes, [value("x", 1)], [value("d", 1)]))
    assert cone(graph, ["d"], lambda name: False) == {0, 1, 2}
    assert cone(graph, ["d"], lambda name: name == "c") == {0, 1}
    assert cone(graph, ["x"], lambda name: False) == set()


def test_assembling_keeps_what_outputs_need():
    template = two_products()
    nodes = [
        helper.make_node("MatMul", ["h", "v"], ["y"]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Neg", ["h"], ["unused"]),
    ]
    constants = {"w": constant("other", W), "v": constant("v", V), "u": constant("u", W)}
    model = assembled(template, nodes, constants, [value("y", "n", 2)], {"": 17, "mine": 2})
    checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMul", "MatMul"]
    assert [tensor.name for tensor in model.graph.initializer] == ["w", "v"]
    assert [i.name for i in model.graph.input] == ["x"]
    assert imports_of(model) == {"": 17, "mine": 2}
    assert model.graph.name == "net"
    assert model.ir_version == template.ir_version
    assert Session(model, "it").run({"x": X})["y"] == pytest.approx(X @ W @ V)


# ---- running


def test_a_session_takes_inputs_by_name_or_in_order_at_the_models_width():
    nodes = [helper.make_node("Sub", ["a", "b"], ["y"])]
    kinds = TensorProto.FLOAT16
    model = net(
        nodes, [value("a", 2, kind=kinds), value("b", 2, kind=kinds)], [value("y", 2, kind=kinds)]
    )
    session = Session(model, "model m")
    assert session.input_types == {"a": "float16", "b": "float16"}
    assert session.output_types == {"y": "float16"}
    one, two = np.float64([3, 5]), np.float32([1, 1])
    assert session.run({"b": two, "z": one, "a": one})["y"].tolist() == [2, 4]
    assert session.run({"first": one, "second": two})["y"].tolist() == [2, 4]
    assert session.given({"a": one, "b": two})["a"].dtype == np.float16
    with pytest.raises(UserError, match=r"model m takes \['a', 'b'\], and \['a'\] are given"):
        session.run({"a": one})
    with pytest.raises(UserError, match="ONNX Runtime cannot run model m: "):
        session.run({"a": one[:1], "b": np.ones((3, 1))})
    with pytest.raises(UserError, match="ONNX Runtime cannot open noise: "):
        Session(b"noise", "noise")


def test_a_session_gives_the_wanted_outputs_and_leaves_integers():
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Add", ["x", "x"], ["z"]),
    ]
    kind = TensorProto.INT64
    outputs = [value("y", 2, kind=kind), value("z", 2, kind=kind)]
    session = Session(net(nodes, [value("x", 2, kind=kind)], outputs).SerializeToString(), "m")
    x = np.int64([1, 2])
    assert {k: v.tolist() for k, v in session.run({"x": x}).items()} == {"y": [-1, -2], "z": [2, 4]}
    assert list(session.run({"x": x}, ["z"])) == ["z"]
    assert session.input_types == {"x": "int64"}


def test_batches_are_cut_in_order_and_work_is_answered_in_order():
    arrays = {"a": np.arange(5), "b": np.arange(10).reshape(5, 2)}
    found = batches(arrays, 2)
    assert [run["a"].tolist() for run in found] == [[0, 1], [2, 3], [4]]
    assert [run["b"].tolist() for run in found] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    assert side_by_side(lambda n: n * n, range(20)) == [n * n for n in range(20)]


def test_latency_is_the_median_of_fifteen_runs(monkeypatch):
    clock = iter(np.cumsum([part for n in range(15) for part in (100.0, (n * 7) % 15)]).tolist())
    monkeypatch.setattr(repair, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    content = two_products().SerializeToString()
    assert latency(content, {"x": X}) == 7
    assert next(clock, None) is None


# ---- reading and matching


def test_further_outputs_are_added_once():
    model = with_outputs(two_products(), ["r", "y", "h"])
    assert [o.name for o in model.graph.output] == ["y", "r", "h"]
    assert len(two_products().graph.output) == 1


def test_a_pair_keeps_its_files_and_knows_its_types(pair):
    opened = pair.opened
    assert opened.original_file == two_products().SerializeToString(deterministic=True)
    wanted = two_products(rounded(W), rounded(V)).SerializeToString(deterministic=True)
    assert opened.compressed_file == wanted
    assert opened.original_types == dict.fromkeys("xhry", "float")
    assert opened.compressed_types == dict.fromkeys("xhry", "float")


def test_an_original_of_another_operator_set_is_converted(tmp_path):
    older, newer = two_products(), two_products(rounded(W), rounded(V))
    older.opset_import[0].version = 13
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, model in zip(paths, (older, newer), strict=True):
        path.write_bytes(model.SerializeToString())
    opened = open_pair(*paths)
    assert (opened.original.opset(), opened.compressed.opset()) == (OPSET, OPSET)
    assert older.opset_import[0].version == 13
    newer.opset_import[0].version = 99
    with pytest.raises(UserError, match="of set 13 and the compressed model of set 99"):
        pair_of(older, newer)


def test_inputs_that_do_not_fit_are_no_pair():
    more = two_products()
    more.graph.input.append(value("x2", "n", 2))
    with pytest.raises(UserError, match="has 1 inputs and the compressed model has 2"):
        pair_of(two_products(), more)
    assert pair_of(more, two_products()).original.inputs == ["x", "x2"]


def test_rounded_weights_are_nodes_and_take_what_stands_before_them(pair):
    assert [(node.name, node.operator, node.position) for node in pair.nodes] == [
        ("first", "MatMul", 0),
        ("second", "MatMul", 2),
    ]
    assert [taken_by(pair, node) for node in pair.nodes] == [["x"], ["r"]]
    assert pair.constant(2, 1).tolist() == V.tolist()
    assert pair.constant(1, 0) is None
    assert pair.constant(2, 5) is None


def test_a_hybrid_computes_the_chosen_products_as_the_original_does(pair):
    weights = [(W, V), (rounded(W), rounded(V))]
    for floats in ((), (0,), (1,), (0, 1)):
        first = weights[0 not in floats][0]
        second = weights[1 not in floats][1]
        found = Session(checked(hybrid(pair, floats), "it"), "it").run({"x": X})["y"]
        assert found == pytest.approx(products_of(first, second), abs=1e-5)


def test_a_model_that_onnx_rejects_is_no_file():
    broken = two_products()
    broken.graph.node[0].op_type = "Nothing"
    with pytest.raises(UserError, match="it is no valid ONNX model"):
        checked(broken, "it")


@pytest.mark.parametrize(
    ("scale", "zero", "axis"),
    [
        (0.5, None, 1),
        (0.5, 3, 0),
        ([0.5, 2.0], [1, -1], 0),
        ([0.5, 2.0, 0.25], [1, -1, 0], 1),
        ([0.5, 2.0, 0.25], None, 1),
    ],
)
def test_dequantising_goes_by_channel(scale, zero, axis):
    values = np.array([[1, 2, 3], [-4, 5, 100]], np.int8)
    scales = np.array(scale, np.float32)
    zeros = None if zero is None else np.array(zero, np.int8)
    found = dequantised(values, scales, zeros, axis)
    for row, column in np.ndindex(2, 3):
        channel = (row, column)[axis]
        by = scale[channel] if isinstance(scale, list) else scale
        off = zero[channel] if isinstance(zero, list) else zero or 0
        assert found[row, column] == (int(values[row, column]) - off) * by
    assert found.dtype == np.float64
    names = ["q", "s"] + ["z"] * (zero is not None)
    attributes = {"axis": axis} if axis != 1 else {}
    node = helper.make_node("DequantizeLinear", names, ["f"], **attributes)
    assert axis_of(node) == axis
    parts = [constant("q", values), constant("s", scales)]
    parts += [] if zeros is None else [constant("z", zeros)]
    graph = Graph(net([node], [], [value("f", 2, 3)], parts))
    assert (constant_value(graph, "f") == found).all()
    assert constant_value(graph, "q").tolist() == values.tolist()
    assert constant_value(graph, "q").dtype == np.float64
    assert constant_value(graph, "nothing") is None


def test_what_is_no_constant_number_has_no_value():
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s"], ["f"]),
        helper.make_node("Neg", ["s"], ["n"]),
    ]
    model = net(nodes, [value("x", 2, kind=TensorProto.INT8)], [], [constant("s", np.float32(1))])
    model.graph.initializer.append(helper.make_tensor("word", TensorProto.STRING, [1], [b"a"]))
    graph = Graph(model)
    assert [constant_value(graph, name) for name in ("f", "n", "word")] == [None] * 3


# ---- quantised operators


def quantised_concat():
    """Two tensors of different scales, joined by ONNX Runtime's operator and turned."""
    scales = {"s1": np.float32(0.5), "s2": np.float32(0.25), "so": np.float32(0.4)}
    zeros = {"z1": np.uint8(3), "z2": np.uint8(100), "zo": np.uint8(7)}
    make = helper.make_node
    nodes = [
        make("QuantizeLinear", ["a", "s1", "z1"], ["a_quantized"]),
        make("QuantizeLinear", ["b", "s2", "z2"], ["b_quantized"]),
        make(
            "QLinearConcat",
            ["so", "zo", "a_quantized", "s1", "z1", "b_quantized", "s2", "z2"],
            ["both_quantized"],
            "join",
            domain="com.microsoft",
            axis=1,
        ),
        make("Transpose", ["both_quantized"], ["turned_quantized"], "turn", perm=[1, 0]),
        make("DequantizeLinear", ["turned_quantized", "so", "zo"], ["y"]),
    ]
    return net(
        nodes,
        [value("a", "n", 2), value("b", "n", 3)],
        [value("y", 5, "n")],
        [constant(name, values) for name, values in (scales | zeros).items()],
        more=[helper.make_opsetid("com.microsoft", 1)],
    )


def test_a_joining_operator_is_rewritten_and_answers_alike():
    model = quantised_concat()
    before = model.SerializeToString()
    plain = QuantisedOperators(model).model
    assert model.SerializeToString() == before
    made = {node.op_type: node for node in plain.graph.node}
    assert (made["Concat"].name, made["Transpose"].name) == ("join", "turn")
    assert not any("QLinear" in node.op_type for node in plain.graph.node)
    rng = np.random.default_rng(0)
    feed = {"a": rng.normal(0, 20, (4, 2)), "b": rng.normal(0, 10, (4, 3))}
    # The integer kernel joins by tables; a value between two steps may be rounded either way.
    found, wanted = (Session(m, "it", optimised=False).run(feed)["y"] for m in (plain, model))
    assert np.abs(found - wanted).max() <= 0.4 + 1e-6
    assert (found != wanted).mean() < 0.2
    steps = found / 0.4
    assert steps == pytest.approx(np.rint(steps), abs=1e-4)


def test_constant_nodes_become_initialisers():
    node = helper.make_node("Constant", [], ["c"], value=constant("any", np.float32([1, 2])))
    whole = helper.make_node("Constant", [], ["d"], value_int=3)
    add = helper.make_node("Add", ["x", "c"], ["y"])
    model = net([node, whole, add], [value("x", 2)], [value("y", 2)])
    without_constant_nodes(model)
    assert [part.op_type for part in model.graph.node] == ["Constant", "Add"]
    (tensor,) = model.graph.initializer
    assert (tensor.name, numpy_helper.to_array(tensor).tolist()) == ("c", [1, 2])


# ---- errors of tensors


def test_sums_come_to_a_difference():
    sums = Sums()
    sums.add(np.float32([3, 0]), np.float32([3, 1]))
    sums.add(np.float32([4]), np.float32([2]))
    sums.add(np.float32([]), np.float32([]))
    found = sums.difference()
    ratio = np.sqrt(5 / 25)
    assert found.relative_l2 == pytest.approx(ratio)
    assert found.sqnr_db == pytest.approx(-20 * np.log10(ratio))
    assert found.largest == 2
    assert Sums().difference() == Difference(np.inf, 0, 0)


@pytest.mark.parametrize(
    ("wanted", "given_", "expected"),
    [
        ([1, 2], [1, 2, 3], Difference(-np.inf, np.inf, np.inf)),
        ([0, 0], [0, 2], Difference(-np.inf, np.inf, 2)),
        ([1, 2], [1, np.inf], Difference(-np.inf, np.inf, np.inf)),
        ([1, 2], [1, np.nan], Difference(-np.inf, np.inf, np.inf)),
        ([np.inf, 2], [np.inf, 2], Difference(np.inf, 0, 0)),
    ],
)
def test_what_is_not_finite_or_not_there_is_infinitely_far(wanted, given_, expected):
    sums = Sums()
    sums.add(np.float32(wanted), np.float32(given_))
    assert sums.difference() == expected


def test_a_nodes_noise_is_that_of_its_worst_output():
    def error(quantised, relative):
        own = None if relative is None else Difference(0, relative, 0)
        return SimpleNamespace(quantised=quantised, own=own)

    errors = [error(1, 0.2), error(None, 0.9), error(1, 0.3), error(1, 0.1), error(0, None)]
    assert own_noise(SimpleNamespace(nodes=[0, 1, 2]), errors) == [0, 0.3, 0]


# ---- trials


def test_a_deviation_is_from_the_original_to_the_compressed_model(pair):
    feeds = batches({"x": X}, 2)
    laboratory = Laboratory(pair, feeds, signed)
    given = products_of(rounded(W), rounded(V))
    wanted = np.maximum(given - products_of(W, V), 0)[:, 0]
    assert wanted.max() > 0
    assert laboratory.base.deviations == pytest.approx(wanted, abs=1e-5)
    assert laboratory.base.error == pytest.approx(1)
    trial, outputs = laboratory.run([1])
    half = products_of(rounded(W), V)
    assert np.concatenate([run["y"] for run in outputs]) == pytest.approx(half, abs=1e-5)
    assert trial.floats == {1}
    above = np.maximum(half - products_of(W, V), 0)[:, 0]
    assert trial.deviations == pytest.approx(above, abs=1e-5)
    squares = [np.square(products_of(W, V) - other).sum() for other in (half, given)]
    assert trial.error == pytest.approx(squares[0] / squares[1], rel=1e-4)
    assert Trial(frozenset(), np.array([1.0, 2.5]), 0).deviation == 3.5
    base, best = repair.judged(two_products().SerializeToString(), pair, feeds, signed)
    assert base.deviations == pytest.approx(wanted, abs=1e-5)
    assert best.deviation == pytest.approx(0, abs=1e-5)


def test_a_budget_gives_what_is_left():
    budget = Budget(5)
    assert [budget.take(n) for n in (2, 0, 9, 1)] == [2, 0, 3, 0]
    assert (budget.left, budget.spent) == (0, 5)


def test_a_change_is_moved_to_another_output_unless_that_has_labels():
    now, was, alone = (np.float32(v) for v in ([1, 2], [0, 1], [0.5, 3]))
    assert _moved_by(now, was, alone).tolist() == [1.5, 4]
    labels = np.int64([1, 2])
    assert _moved_by(labels, labels, labels + 1).tolist() == [1, 2]
    assert _moved_by(now, was[:1], alone[:1]).tolist() == [1, 2]


def test_localising_explains_each_node_by_what_goes_away_with_it(pair):
    def far(original, compressed):
        return np.abs(original["y"] - compressed["y"]).sum(axis=1)

    found = localise(pair, batches({"x": X}, 2), far, 5, most=2)
    base = far({"y": products_of(W, V)}, {"y": products_of(rounded(W), rounded(V))}).sum()
    for ranked in found.ranking:
        weights = (W, rounded(V)) if ranked.index == 0 else (rounded(W), V)
        left = far({"y": products_of(W, V)}, {"y": products_of(*weights)}).sum()
        assert ranked.explained == pytest.approx(1 - left / base, abs=1e-5)
        assert ranked.node == pair.nodes[ranked.index]
    explained = [ranked.explained for ranked in found.ranking]
    assert explained == sorted(explained, reverse=True)
    assert found.order == [ranked.index for ranked in found.ranking]
    assert [sorted(trial.floats) for trial in found.trials] == [[], found.order[:1], [0, 1]]
    assert found.trials[2].deviation == pytest.approx(0, abs=1e-4)
    assert found.evaluations == 4
    alone = localise(pair, batches({"x": X}, 2), far, 5, most=2, enough=explained[0] - 1e-6)
    assert len(alone.trials) == 2


def test_a_tensors_error_is_told_as_it_is_and_with_the_originals_inputs(pair):
    def ratio(given, wanted):
        return pytest.approx(np.linalg.norm(wanted - given) / np.linalg.norm(wanted), rel=1e-4)

    found = {error.tensor: error for error in tensor_errors(pair, batches({"x": X}, 2))}
    assert list(found) == ["x", "h", "r", "y"]
    assert [(e.node, e.operator, e.quantised) for e in found.values()] == [
        ("", "", None),
        ("first", "MatMul", 0),
        ("r", "Relu", None),
        ("second", "MatMul", 1),
    ]
    assert found["x"].cumulative == Difference(np.inf, 0, 0)
    assert found["h"].cumulative.relative_l2 == ratio(X @ rounded(W), X @ W)
    assert found["h"].own == found["h"].cumulative
    assert found["r"].own is None
    wanted = products_of(W, V)
    assert found["y"].cumulative.relative_l2 == ratio(products_of(rounded(W), rounded(V)), wanted)
    assert found["y"].own.relative_l2 == ratio(products_of(W, rounded(V)), wanted)
    assert found["y"].own.largest == pytest.approx(
        np.abs(products_of(W, rounded(V)) - wanted).max(), rel=1e-4
    )


# ---- repaired files


def file(floats=(), finer=(), gone=0.0, share=0.0, content=b"1234"):
    return RepairedFile(tuple(floats), tuple(finer), 8, content, gone, 1.0, 1.0, share)


def test_the_smallest_file_has_the_fewest_floats_then_changes_then_bytes():
    files = [
        file(gone=0.1),
        file(floats=[1, 2], gone=0.95, share=0.2),
        file(floats=[1], finer=[2, 3], gone=0.9, share=0.1),
        file(floats=[1], finer=[2], gone=0.9, share=0.1, content=b"12345"),
        file(floats=[1], finer=[3], gone=0.9, share=0.1, content=b"123"),
    ]
    curve = RepairCurve(None, None, files, 0)
    assert curve.smallest(0.9) is files[4]
    assert curve.smallest(0.91) is files[1]
    assert curve.smallest(0.91, 0.2) is files[1]
    assert curve.smallest(0.91, 0.19) is None
    assert curve.smallest(0.0) is files[0]


def test_a_file_is_written_as_it_is(tmp_path):
    repaired = file(content=two_products().SerializeToString())
    repaired.write(tmp_path / "repaired.onnx")
    assert (tmp_path / "repaired.onnx").read_bytes() == repaired.content
    assert repaired.size == len(repaired.content)
    assert [path.name for path in tmp_path.glob("*.onnx*")] == ["repaired.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "repaired.onnx")
    assert session.run(None, {"x": X})[0] == pytest.approx(products_of(W, V))
