"""Models in the words of operators' version 8: what moved to inputs is an attribute again."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

from asterism_mxnet.old_onnx import for_old_readers
from versions.small_files import onnx_model

INT = np.int64


def old(nodes, constants, shape=("n", 4, 6), batch=2):
    return for_old_readers(onnx_model(nodes, [("x", shape)], ["y"], constants), batch)


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.parametrize(
    ("operator", "constants", "expected"),
    [
        ("Clip", {"a": np.float32(-1), "b": np.float32(2)}, {"min": -1.0, "max": 2.0}),
        ("Pad", {"a": np.array([0, 0, 1, 0, 0, 2], INT)}, {"pads": [0, 0, 1, 0, 0, 2]}),
        ("ReduceSum", {"a": np.array([1], INT)}, {"axes": [1]}),
        ("Unsqueeze", {"a": np.array([0], INT)}, {"axes": [0]}),
        ("TopK", {"a": np.array([3], INT)}, {"k": 3}),
        (
            "Slice",
            {"a": np.array([1], INT), "b": np.array([3], INT), "c": np.array([2], INT)},
            {"starts": [1], "ends": [3], "axes": [2]},
        ),
    ],
)
def test_inputs_become_attributes(operator, constants, expected):
    arrays = {name: np.asarray(array) for name, array in constants.items()}
    written = ["y", "i"] if operator == "TopK" else ["y"]
    (node,) = old([(operator, ["x", *arrays], written, {})], arrays).graph.node
    assert list(node.input) == ["x"]
    assert attributes(node) == expected


def test_the_last_axis_is_said():
    (node,) = old([("Softmax", ["x"], ["y"], {})], {}).graph.node
    assert attributes(node) == {"axis": -1}


def test_constants_are_inputs_of_the_graph():
    weights = np.ones((6, 3), np.float32)
    made = old([("MatMul", ["x", "w"], ["y"], {})], {"w": weights})
    assert [value.name for value in made.graph.input] == ["x", "w"]
    np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), weights)


def test_sizes_that_follow_from_the_batch_are_constants():
    nodes = [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "first"], ["n"], {}),
        ("Concat", ["n", "rest"], ["t"], {"axis": 0}),
        ("Reshape", ["x", "t"], ["y"], {}),
    ]
    constants = {"first": np.array([0], INT), "rest": np.array([24], INT)}
    made = old(nodes, constants, batch=5)
    assert [node.op_type for node in made.graph.node] == ["Reshape"]
    (target,) = [c for c in made.graph.initializer if c.name == made.graph.node[0].input[1]]
    assert numpy_helper.to_array(target).tolist() == [5, 24]
    free = for_old_readers(onnx_model(nodes, [("x", ("n", 4, 6))], ["y"], constants), None)
    assert len(free.graph.node) == 4, "without a batch nothing is known"


@pytest.mark.parametrize(
    ("nodes", "constants", "said"),
    [
        ([("Relu", ["x"], ["p"], {}), ("Clip", ["x", "p"], ["y"], {})], {}, "Clip: its min is"),
        (
            [("Slice", ["x", "a", "b", "c", "d"], ["y"], {})],
            {n: np.array([v], INT) for n, v in zip("abcd", (0, 4, 1, 2), strict=True)},
            "Slice: its steps",
        ),
        (
            [("Resize", ["x", "", "s"], ["y"], {})],
            {"s": np.ones(3, np.float32)},
            "Resize: an input left out",
        ),
    ],
)
def test_what_could_not_be_said_is_rejected(nodes, constants, said):
    with pytest.raises(NotImplementedError, match=said):
        old(nodes, constants)


def test_the_given_model_stays_as_it_is():
    model = onnx_model([("Softmax", ["x"], ["y"], {})], [("x", ("n", 3))], ["y"])
    before = model.SerializeToString()
    for_old_readers(model, 2)
    assert model.SerializeToString() == before
