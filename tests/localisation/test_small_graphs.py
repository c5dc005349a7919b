"""Graphs and their parts, on a few nodes written by hand."""

import numpy as np
import pytest
from onnx import TensorProto, checker, helper, numpy_helper
from written_graphs import OPSET, V, W, X, constant, net, two_products, value

from asterism.core.messages.errors import UserError
from asterism.localisation.graph import (
    OnnxGraph,
    assemble_model,
    find_upstream_nodes,
    rename_tensors,
)
from asterism.localisation.matching import constant_value, dequantise, find_channel_axis
from asterism.localisation.qoperators import QuantisedOperators, without_constant_nodes
from asterism.localisation.running import Session, batches, run_in_threads
from asterism.models.onnx_graphs import opset_versions, own_opset, topological_order
from onnx_texts import onnx_model

# ---- graphs


def test_a_graph_knows_its_nodes_by_their_names_and_tensors():
    model = two_products()
    model.graph.node.add(op_type="Split", input=["r"], output=["", "part"])
    graph = OnnxGraph(model)
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
    model = net(nodes, [value("a", 2), value("x", 2)], [value("y", 2)], a=[1.0, 2])
    graph = OnnxGraph(model)
    assert graph.inputs == ["x"]
    assert graph.varying == {"x", "noise", "y"}
    assert graph.takers["a"] == [1]


def test_operator_sets_are_told_by_domain():
    model = net([], [], [], more=[helper.make_opsetid("com.microsoft", 1)])
    for own in ("", "ai.onnx"):
        model.opset_import[0].domain = own
        assert own_opset(model) == OPSET
        assert opset_versions(model) == {"": OPSET, "com.microsoft": 1}
    del model.opset_import[0]
    assert own_opset(model) == 0


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
    found = rename_tensors(node, names)
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
    graph = OnnxGraph(net([node], [value("x", 2), value("flag")], [value("y", 2)]))
    assert graph.takers == {"flag": [0], "x": [0], "c": [0]}


def test_nodes_are_ordered_by_what_they_take_then_by_place():
    make = helper.make_node
    nodes = [
        make("Add", ["c", "b"], ["d"]),
        make("Neg", ["x"], ["b"]),
        make("Abs", ["b"], ["c"]),
        make("Exp", ["x"], ["e"]),
    ]
    assert topological_order(nodes) == [1, 2, 0, 3]
    graph = OnnxGraph(net(nodes, [value("x", 1)], [value("d", 1)]))
    assert find_upstream_nodes(graph, ["d"], lambda name: False) == {0, 1, 2}
    assert find_upstream_nodes(graph, ["d"], lambda name: name == "c") == {0, 1}
    assert find_upstream_nodes(graph, ["x"], lambda name: False) == set()


def test_assembling_keeps_what_outputs_need():
    template = two_products()
    nodes = [
        helper.make_node("MatMul", ["h", "v"], ["y"]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Neg", ["h"], ["unused"]),
    ]
    constants = {"w": constant("other", W), "v": constant("v", V), "u": constant("u", W)}
    model = assemble_model(template, nodes, constants, [value("y", "n", 2)], {"": 17, "mine": 2})
    checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMul", "MatMul"]
    assert [tensor.name for tensor in model.graph.initializer] == ["w", "v"]
    assert [i.name for i in model.graph.input] == ["x"]
    assert opset_versions(model) == {"": 17, "mine": 2}
    assert model.graph.name == "net"
    assert model.ir_version == template.ir_version
    assert Session(model, "it").run({"x": X})["y"] == pytest.approx(X @ W @ V)


# ---- running


def test_a_session_takes_inputs_by_name_or_in_order_at_the_models_width():
    text = "(float16[2] a, float16[2] b) => (float16[2] y) { y = Sub (a, b) }"
    session = Session(onnx_model(text), "model m")
    assert session.input_types == {"a": "float16", "b": "float16"}
    assert session.output_types == {"y": "float16"}
    one, two = np.float64([3, 5]), np.float32([1, 1])
    assert session.run({"b": two, "z": one, "a": one})["y"].tolist() == [2, 4]
    assert session.run({"first": one, "second": two})["y"].tolist() == [2, 4]
    assert session.given({"a": one, "b": two})["a"].dtype == np.float16
    with pytest.raises(UserError, match=r"m takes \['a', 'b'\].* \['a'\]"):
        session.run({"a": one})
    with pytest.raises(UserError, match="cannot run model m: "):
        session.run({"a": one[:1], "b": np.ones((3, 1))})
    with pytest.raises(UserError, match="cannot open noise: "):
        Session(b"noise", "noise")


def test_a_session_gives_the_wanted_outputs_and_leaves_integers():
    text = "(int64[2] x) => (int64[2] y, int64[2] z) { y = Neg (x) z = Add (x, x) }"
    session = Session(onnx_model(text).SerializeToString(), "m")
    x = np.int64([1, 2])
    assert {k: v.tolist() for k, v in session.run({"x": x}).items()} == {"y": [-1, -2], "z": [2, 4]}
    assert list(session.run({"x": x}, ["z"])) == ["z"]
    assert session.input_types == {"x": "int64"}


def test_batches_are_cut_in_order_and_work_is_answered_in_order():
    arrays = {"a": np.arange(5), "b": np.arange(10).reshape(5, 2)}
    found = batches(arrays, 2)
    assert [run["a"].tolist() for run in found] == [[0, 1], [2, 3], [4]]
    assert [run["b"].tolist() for run in found] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    assert run_in_threads(lambda n: n * n, range(20)) == [n * n for n in range(20)]


# ---- constants and quantised operators


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
    found = dequantise(values, scales, zeros, axis)
    for row, column in np.ndindex(2, 3):
        channel = (row, column)[axis]
        by = scale[channel] if isinstance(scale, list) else scale
        off = zero[channel] if isinstance(zero, list) else zero or 0
        assert found[row, column] == (int(values[row, column]) - off) * by
    assert found.dtype == np.float64
    names = ["q", "s"] + ["z"] * (zero is not None)
    attributes = {"axis": axis} if axis != 1 else {}
    node = helper.make_node("DequantizeLinear", names, ["f"], **attributes)
    assert find_channel_axis(node) == axis
    parts = {"q": values, "s": scales} | ({} if zeros is None else {"z": zeros})
    graph = OnnxGraph(net([node], [], [value("f", 2, 3)], **parts))
    assert (constant_value(graph, "f") == found).all()
    assert constant_value(graph, "q").tolist() == values.tolist()
    assert constant_value(graph, "q").dtype == np.float64
    assert constant_value(graph, "nothing") is None


def test_what_is_no_constant_number_has_no_value():
    text = "(int8[2] x) => () { f = DequantizeLinear (x, s) n = Neg (s) }"
    model = onnx_model(text, s=np.float32(1))
    model.graph.initializer.append(helper.make_tensor("word", TensorProto.STRING, [1], [b"a"]))
    graph = OnnxGraph(model)
    assert [constant_value(graph, name) for name in ("f", "n", "word")] == [None] * 3


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
        more=[helper.make_opsetid("com.microsoft", 1)],
        **(scales | zeros),
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


def joined_integers(second="s"):
    """Two tensors of 8 bits, joined as integers: of one scale where ``second`` is ``s``."""
    text = f"""(float[n,2] a, float[n,3] b) => (float[n,5] y) {{
        a8 = QuantizeLinear (a, s, z)
        b8 = QuantizeLinear (b, {second}, z)
        [join] both = Concat <axis = 1> (a8, b8)
        y = DequantizeLinear (both, s, z)
    }}"""
    return onnx_model(text, s=np.float32(0.5), s2=np.float32(0.25), z=np.int8(3))


def test_integers_of_one_scale_are_joined_as_floats():
    model = joined_integers()
    plain = QuantisedOperators(model).model
    makers = {name: node.op_type for node in plain.graph.node for name in node.output}
    (join,) = (node for node in plain.graph.node if node.name == "join")
    assert [makers[name] for name in join.input] == ["DequantizeLinear"] * 2
    rng = np.random.default_rng(0)
    feed = {"a": rng.normal(0, 20, (4, 2)), "b": rng.normal(0, 10, (4, 3))}
    found, wanted = (Session(m, "it", optimised=False).run(feed)["y"] for m in (plain, model))
    assert np.array_equal(found, wanted)
    other = QuantisedOperators(joined_integers("s2")).model
    (join,) = (node for node in other.graph.node if node.name == "join")
    assert list(join.input) == ["a8", "b8"], "integers of two scales are only joined as they are"


def test_constant_nodes_become_initialisers():
    node = helper.make_node("Constant", [], ["c"], value=constant("any", np.float32([1, 2])))
    whole = helper.make_node("Constant", [], ["d"], value_int=3)
    add = helper.make_node("Add", ["x", "c"], ["y"])
    model = net([node, whole, add], [value("x", 2)], [value("y", 2)])
    without_constant_nodes(model)
    assert [part.op_type for part in model.graph.node] == ["Constant", "Add"]
    (tensor,) = model.graph.initializer
    assert (tensor.name, numpy_helper.to_array(tensor).tolist()) == ("c", [1, 2])
