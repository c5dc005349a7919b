"""Files as subjects: free sizes, indices, a user's own inputs; models in float64."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_files import chain, onnx_model, run_file

from asterism.core.messages.errors import UserError
from asterism.differential.subjects import DISTRIBUTIONS
from asterism.differential.subjects.onnx_file import make_subject, read_subject
from asterism.differential.subjects.operators import operator_subjects, read_operators
from asterism.differential.subjects.reading import parse_shapes, read_inputs, read_subjects
from asterism.models.onnx_graphs import in_float64
from tried_operators import tried_operators


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"x": (2, 3)}, r"m: the input 'x' has the shape \?,4"),
        ({"x": (2, 4, 1)}, r"m: the input 'x' has the shape \?,4"),
        ({"z": (2, 4)}, r"m has no input 'z' \(it has: x\)"),
    ],
)
def test_a_shape_must_fit(shapes, said):
    with pytest.raises(UserError, match=said):
        make_subject("m", chain("Relu"), 9, shapes)


def test_shapes_on_the_command_line():
    assert parse_shapes(["x=2,3", "a=b=1"]) == {"x": (2, 3), "a=b": (1,)}
    for wrong in ("x", "x=", "x=2,a", "x=0", "x=2,-1"):
        with pytest.raises(UserError, match="should be like NAME=2,16,4"):
            parse_shapes([wrong])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_drawn_is_the_same_every_time(distribution):
    subject = make_subject("m", chain("Relu", shape=("batch", 400)), 9, {})
    (one,), (other,) = (subject.draw(3, distribution) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.dtype == np.float32
    assert np.isnan(one).sum(1).tolist() == [int(distribution == "nan")] * 2
    assert np.isinf(one).sum(1).tolist() == [int(distribution == "infinity")] * 2
    assert (np.nanmax(np.abs(one)) > 8) == (distribution in ("wide", "infinity"))


def test_a_file_is_read_within_limits(tmp_path):
    onnx.save(chain("Relu"), tmp_path / "m.onnx")
    assert read_subject(tmp_path / "m.onnx", 9, {}).name == "m"
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    for name, said in (("m.keras", r"is no \.onnx or \.pt2 "), ("bad.onnx", "is no ONNX model")):
        with pytest.raises(UserError, match=said):
            read_subjects([tmp_path / name], 9, {}, [])


def test_own_inputs_are_checked(tmp_path):
    subject, path = make_subject("m", chain("Relu"), 9, {}), tmp_path / "in.npz"
    np.savez(path, x=np.ones((7, 4), np.float32))
    assert read_inputs(path, subject)[0].shape == (7, 4)
    np.savez(path, x=np.ones((7, 4)))
    with pytest.raises(UserError, match="x is float64 of rank 2, and m takes float32 of rank 2"):
        read_inputs(path, subject)
    np.savez(path, z=np.ones((7, 4)))
    with pytest.raises(UserError, match="has no array 'x'"):
        read_inputs(path, subject)


def test_sizes_of_one_name_are_equal_and_sums_stay_sums():
    """A decoder: what was and what is new, joined; the mask is as long as both."""
    nodes = [
        ("Concat", ["past", "new"], ["present"], {"axis": 1}),
        ("Unsqueeze", ["mask", "last"], ["wide"], {}),
        ("Mul", ["present", "wide"], ["y"], {}),
    ]
    inputs = [
        ("past", ("batch", "before", 4)),
        ("new", ("batch", "steps", 4)),
        ("mask", ("batch", "total")),
    ]
    constants = {"last": np.array([2], np.int64)}
    model = onnx_model(nodes, inputs, ["y", "present"], constants)
    model.graph.output[1].CopyFrom(
        onnx.helper.make_tensor_value_info("present", 1, ("batch", "total", 4))
    )
    assert [spec.shape for spec in make_subject("m", model, 9, {}).inputs] == [
        *[(2, 9, 4)] * 2,
        (2, 18),
    ]
    given = make_subject("m", model, 9, {"past": (3, 5, 4)}).inputs
    assert [spec.shape for spec in given] == [(3, 5, 4), (3, 9, 4), (3, 14)]
    wrong = make_subject("m", model, 9, {"mask": (2, 3)}).inputs  # what the user says counts
    assert wrong[2].shape == (2, 3)


def test_sums_are_read_from_the_names_of_sizes():
    nodes = [("Add", ["x", "z"], ["y"], {})]
    inputs = [("x", ("n", "past + 2")), ("z", ("n", "past"))]
    subject = make_subject("m", onnx_model(nodes, inputs, ["y"]), 9, {})
    assert [spec.shape for spec in subject.inputs] == [(2, 11), (2, 9)]


I64 = onnx.TensorProto.INT64
#: Nodes that index by ``i``, the constants that they read, and the number of rows.
INDEXED = {
    "rows": ([("Gather", ["t", "i"], ["y"], {})], {"t": (7, 3)}, 7),
    "another axis": ([("Gather", ["t", "i"], ["y"], {"axis": 1})], {"t": (7, 3)}, 3),
    "a computed table": (
        [("Mul", ["t", "t"], ["u"], {}), ("Gather", ["u", "i"], ["y"], {})],
        {"t": (5, 3)},
        5,
    ),
    "behind other operators": (
        [
            ("Cast", ["i"], ["a"], {"to": onnx.TensorProto.INT32}),
            ("Flatten", ["a"], ["b"], {}),
            ("Gather", ["t", "b"], ["y"], {}),
        ],
        {"t": (6, 3)},
        6,
    ),
    "the smallest of two": (
        [("Gather", ["t", "i"], ["y"], {}), ("Gather", ["s", "i"], ["z"], {})],
        {"t": (9, 3), "s": (4, 3)},
        4,
    ),
    "points": ([("GatherND", ["t", "i"], ["y"], {})], {"t": (8, 7, 6, 5, 4, 9)}, 4),
    "scattered": (
        [("ScatterElements", ["t", "i", "w"], ["y"], {"axis": 1})],
        {"t": (2, 6), "w": (2, 5)},
        6,
    ),
    "a loss": ([("NegativeLogLikelihoodLoss", ["t", "i"], ["y"], {})], {"t": (2, 4, 5)}, 4),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_stay_within_the_rows_that_they_index(name):
    nodes, tables, rows = INDEXED[name]
    constants = {n: np.ones(shape, np.float32) for n, shape in tables.items()}
    model = onnx_model(nodes, [("i", (2, 5), I64)], [nodes[-1][2][0]], constants)
    subject = make_subject("m", model, 9, {})
    (spec,), (drawn,) = subject.inputs, subject.draw(0, "normal")
    assert spec.bound == rows
    assert drawn.dtype == np.int64 and drawn.shape == (2, 5) and drawn.max() < rows


def test_what_is_added_to_indices_counts_and_masks_are_yes_or_no():
    nodes = [
        ("Add", ["i", "two"], ["j"], {}),
        ("Gather", ["t", "j"], ["y"], {}),
        ("Mul", ["mask", "mask"], ["z"], {}),
    ]
    constants = {"two": np.array(2, np.int64), "t": np.ones((7, 3), np.float32)}
    inputs = [("i", (2, 5), I64), ("mask", (2, 5), I64), ("other", (2, 5), I64)]
    subject = make_subject("m", onnx_model(nodes, inputs, ["y"], constants), 9, {})
    assert [spec.bound for spec in subject.inputs] == [5, 2, 10]


def test_an_output_that_is_no_tensor_is_rejected():
    model = onnx_model([("SequenceConstruct", ["x"], ["y"], {})], [("x", (2, 3))], ["y"])
    kind = onnx.helper.make_tensor_type_proto(1, None)
    model.graph.output[0].type.CopyFrom(onnx.helper.make_sequence_type_proto(kind))
    with pytest.raises(UserError, match="the output 'y' is no tensor"):
        make_subject("m", model, 9, {})


def test_nodes_are_put_in_an_order_in_which_they_can_run():
    """A converter appended the first node; ONNX's evaluator and others need the order."""
    nodes = [("Neg", ["a"], ["b"], {}), ("Exp", ["b"], ["y"], {}), ("Abs", ["x"], ["a"], {})]
    subject = make_subject("m", onnx_model(nodes, [("x", (2, 3))], ["y"]), 9, {})
    assert [node.label.split()[0] for node in subject.nodes] == ["Abs", "Neg", "Exp"]
    circle = [("Add", ["x", "b"], ["a"], {}), ("Neg", ["a"], ["b"], {})]
    subject = make_subject("m", onnx_model(circle, [("x", (2, 3))], ["b"]), 9, {})
    assert [node.label.split()[0] for node in subject.nodes] == ["Add", "Neg"]


SUBJECTS = list(tried_operators())


def test_names_differ():
    names = [subject.name for subject in SUBJECTS]
    assert len(set(names)) == len(names) > 350


def test_they_are_the_same_every_time():
    again = {subject.name: subject.content for subject in operator_subjects()}
    assert all(again[subject.name] == subject.content for subject in SUBJECTS)


@pytest.mark.parametrize("name", sorted({operator.name for operator in read_operators()}))
def test_they_are_valid_and_say_what_they_put_out(name):
    chosen = [s for s in SUBJECTS if s.name.split()[0] == name]
    assert chosen
    for subject in chosen:
        onnx.checker.check_model(subject.model, full_check=True)
        assert [node.op_type for node in subject.model.graph.node] == [name]
        assert all(o.type.tensor_type.elem_type for o in subject.model.graph.output)


def run(model, *arrays):
    evaluator = ReferenceEvaluator(in_float64(model))
    return evaluator.run(None, dict(zip(evaluator.input_names, arrays, strict=True)))


def test_what_float32_loses_is_there():
    model = chain("Identity", "Exp")
    x = np.array([[1e-9, 1 / 3, 2.0, 0.1]])
    np.testing.assert_allclose(run(model, x)[0], np.exp(x), rtol=1e-15)
    assert model.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT, "a copy"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (("Cast", ["x"], ["c"], {"to": TensorProto.FLOAT16}), 1 / 3),
        (("Cast", ["x"], ["c"], {"to": TensorProto.INT32}), 0.0),
        (("ConstantOfShape", ["s"], ["c"], {}), 0.0),
        (("Constant", [], ["c"], {"value_float": 0.5}), 0.5),
        (("Constant", [], ["c"], {"value": numpy_helper.from_array(np.float32([0.25]))}), 0.25),
    ],
)
def test_types_inside_of_nodes(node, expected):
    to_float = ("Cast", ["c"], ["f"], {"to": TensorProto.FLOAT})
    nodes = [node, to_float, ("Add", ["f", "f"], ["y"], {})]
    constants = {"s": np.array([1], np.int64)}
    model = onnx_model(nodes, [("x", (1,))], ["y"], constants)
    (found,) = run(model, np.array([1 / 3]))
    assert found.dtype == np.float64 and found.reshape(-1)[0] == 2 * expected


def test_weights_are_moved_and_sizes_are_not():
    scales, weights = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    nodes = [("Mul", ["x", "w"], ["m"], {}), ("Resize", ["m", "", "s"], ["y"], {})]
    model = onnx_model(nodes, [("x", (1, 2))], ["y"], {"w": weights, "s": scales})
    moved = in_float64(model, lambda array: array * 2)
    arrays = {c.name: numpy_helper.to_array(c) for c in moved.graph.initializer}
    np.testing.assert_array_equal(arrays["w"], [6, 10])
    np.testing.assert_array_equal(arrays["s"], [1, 2])
    assert {a.dtype for a in arrays.values()} == {np.dtype(np.float64)}


def test_graphs_inside_of_nodes():
    branch = [
        helper.make_graph(
            [helper.make_node("Constant", [], ["r"], value_float=value)],
            "branch",
            [],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, [])],
        )
        for value in (0.1, 0.2)
    ]
    nodes = [("If", ["b"], ["y"], {"then_branch": branch[0], "else_branch": branch[1]})]
    model = onnx_model(nodes, [("b", (), TensorProto.BOOL)], ["y"])
    (found,) = run(model, np.array(True))
    assert found.dtype == np.float64 and found == pytest.approx(0.1, rel=1e-6)


def test_weights_among_the_inputs_are_no_inputs(tmp_path):
    """As in files of the format's early versions."""
    inputs = [("x", (2, 3)), ("w", (3, 1))]
    constants = {"w": np.float32([[1], [2], [3]])}
    model = onnx_model([("MatMul", ["x", "w"], ["y"], {})], inputs, ["y"], constants)
    (found,) = run_file(model.SerializeToString(), [np.ones((2, 3))], tmp_path)
    np.testing.assert_array_equal(found, [[6.0], [6.0]])


@pytest.mark.parametrize("opset", [7, 9, 13, 15])
def test_batches_are_normalised_by_the_weights_in_every_version(opset, tmp_path):
    weights = {name: np.float32([i + 1, 2]) for i, name in enumerate(("s", "b", "m", "v"))}
    nodes = [("BatchNormalization", ["x", *weights], ["y"], {"epsilon": 0.0})]
    model = onnx_model(nodes, [("x", (3, 2))], ["y"], weights, opset)
    x, (s, b, m, v) = np.arange(6.0).reshape(3, 2), weights.values()
    (found,) = run_file(model.SerializeToString(), [x], tmp_path)
    np.testing.assert_allclose(found, (x - m) / np.sqrt(v) * s + b, rtol=1e-6)
