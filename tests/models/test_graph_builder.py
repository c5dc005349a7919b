"""ONNX graphs that are written node by node."""

import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, compose, helper

import asterism
from asterism.models.onnx_graphs import GraphBuilder


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def affine(name, given, result, *, merged):
    graph = GraphBuilder(name, merged=merged)
    product = graph.add("MatMul", given, graph.constant(np.full((3, 2), 2, np.float32)))
    top, _ = graph.add_all("TopK", 2, product, graph.constant(np.array([1], np.int64)))
    graph.add("Add", top, graph.constant(np.array(0.5, np.float32)), named=result)
    return graph.model([value(given, "N", 3)], [value(result, "N", 1)], {"": 17}, 9)


@pytest.mark.parametrize("merged", [False, True])
def test_a_graph_computes_what_was_added_and_equal_graphs_have_equal_bytes(merged):
    model = affine("a", "x", "y", merged=merged)
    text = model.SerializeToString()
    assert text == affine("a", "x", "y", merged=merged).SerializeToString()
    session = onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"])
    given = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    assert session.run(["y"], {"x": given})[0].tolist() == [[12.5], [30.5]]


def test_names_are_unique_where_graphs_are_merged():
    first = affine("a", "x", "m", merged=True)
    wide = GraphBuilder("b", merged=True)
    wide.add("Concat", "m2", "m2", "m2", named="w", axis=1)
    second = wide.model([value("m2", "N", 1)], [value("w", "N", 3)], {"": 17}, 9)
    both = compose.merge_models(first, second, io_map=[("m", "m2")])
    third = affine("c", "w2", "y", merged=True)
    whole = compose.merge_models(both, third, io_map=[("w", "w2")])
    onnx.checker.check_model(whole, full_check=True)
    names = [node.name for node in whole.graph.node]
    assert all(names) and len(set(names)) == len(names) == 7
    plain = [affine(name, "x", "y", merged=False) for name in "ac"]
    values = [{c.name for c in model.graph.initializer} for model in plain]
    assert values[0] & values[1], "names that count from one are for graphs that stand alone"


def test_a_graph_with_an_unknown_operator_is_rejected():
    graph = GraphBuilder("a")
    graph.add("Frobnicate", "x", named="y")
    with pytest.raises(onnx.checker.ValidationError, match="Frobnicate"):
        graph.model([value("x", 1)], [value("y", 1)], {"": 17}, 9)


#: Written by ONNX's helpers alone: they run where nothing else of the project is installed, hold
#: one operator in whatever way its version allows, or give their nodes names that a page shows.
BY_HELPERS = {
    "differential/adapters/old_onnx.py",
    "differential/backends/onnx_reference.py",
    "vetting/demo.py",
    "differential/subjects/operators.py",
}


def test_graphs_of_models_are_written_in_one_place():
    source = Path(asterism.__file__).parent
    writers = [
        str(file.relative_to(source))
        for file in sorted(source.rglob("*.py"))
        if str(file.relative_to(source)) not in BY_HELPERS
        and re.search(r"\bmake_graph\(", file.read_text(encoding="utf-8"))
    ]
    assert writers == ["models/onnx_graphs.py"]
