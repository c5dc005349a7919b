"""Faults of a converter or a runtime, each as an edit of an ONNX file that is valid otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import GraphProto, helper, numpy_helper

from asterism.memo.graphs.graph import Graph, sequential
from asterism.memo.universe.tensors import Tensor
from seeding.layer_changes import on_array
from seeding.layer_faults import node

_LISTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
#: What is edited how, by the fault's name.
ONNX_FAULTS: dict[str, dict[str, Any]] = _LISTED["faults"]
#: Models whose files are edited.
ONNX_MODELS: dict[str, Graph] = {
    name: sequential(
        Tensor(tuple(model["shape"])), [node(kind, **config) for kind, config in model["layers"]]
    )
    for name, model in _LISTED["models"].items()
}


def edited(content: bytes, fault: str) -> bytes | None:
    """A file with a fault; None where the model has nothing that the fault is about."""
    model = onnx.load_model_from_string(content)
    described = ONNX_FAULTS[fault]
    kind = next(kind for kind in EDITS if kind in described)
    for at, given in enumerate(model.graph.node):
        if given.op_type in described["of"] and EDITS[kind](model.graph, at, described[kind]):
            return bytes(model.SerializeToString())
    return None


def constant(graph: GraphProto, at: int, described: Any) -> bool:
    """The constant that the node reads at a place gets other numbers."""
    place, calculation = described
    names = graph.node[at].input[place : place + 1]
    for tensor in (t for t in graph.initializer if t.name in names):
        before = numpy_helper.to_array(tensor)
        after = np.ascontiguousarray(on_array(calculation, before), before.dtype)
        if after.shape == before.shape and not np.array_equal(before, after):
            tensor.CopyFrom(numpy_helper.from_array(after, tensor.name))
            return True
    return False


def attribute(graph: GraphProto, at: int, described: Any) -> bool:
    """An attribute that the node has gets another value."""
    name, calculation = described
    for given in (a for a in graph.node[at].attribute if a.name == name):
        value = on_array(calculation, np.array(helper.get_attribute_value(given)))
        given.CopyFrom(helper.make_attribute(name, np.asarray(value).tolist()))
        return True
    return False


def swap(graph: GraphProto, at: int, places: list[int]) -> bool:
    """Two inputs of the node change places."""
    inputs, (one, other) = graph.node[at].input, places
    if len(inputs) <= other or inputs[one] == inputs[other]:
        return False
    inputs[one], inputs[other] = inputs[other], inputs[one]
    return True


def replace(graph: GraphProto, at: int, operator: str) -> bool:
    """The node computes something else."""
    graph.node[at].op_type = operator
    if operator == "Identity":
        del graph.node[at].attribute[:]
    return True


def behind(graph: GraphProto, at: int, chain: list[tuple[str, dict[str, Any]]]) -> bool:
    """Further nodes of one input each are behind the node."""
    last = graph.node[at].output[0]
    name = graph.node[at].output[0] = f"{last}_whole"
    for step, (kind, attributes) in enumerate(chain):
        target = last if step == len(chain) - 1 else f"{last}_{step}"
        added = helper.make_node(kind, [name], [target], **attributes)
        graph.node.insert(at + 1 + step, added)
        name = target
    return True


def without_nan(graph: GraphProto, at: int, value: float) -> bool:
    """NaN is another number where the node reads it."""
    read = graph.node[at].input[0]
    graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), "seeded_zero"))
    graph.node[at].input[0] = "seeded_where"
    inputs = ["seeded_isnan", "seeded_zero", read]
    graph.node.insert(at, helper.make_node("Where", inputs, ["seeded_where"]))
    graph.node.insert(at, helper.make_node("IsNaN", [read], ["seeded_isnan"]))
    return True


#: Edits by name: they say whether there was something to edit.
EDITS: dict[str, Callable[[GraphProto, int, Any], bool]] = {
    edit.__name__: edit for edit in (constant, attribute, swap, replace, behind, without_nan)
}
