"""ONNX models as readers of old operator versions expect them.

Since operators' version 11 many attributes are inputs (``axes``, ``pads``, ``min``), and constants
are inputs of the graph no more. An old reader does not look there, and computes something else
without a word. Here they are put back where it looks; what has no place there is rejected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Attributes that newer versions of an operator take as inputs, by the place of the input.
_MOVED = {
    "Clip": {1: "min", 2: "max"},
    "Dropout": {1: "ratio"},
    "Pad": {1: "pads", 2: "value"},
    "ReduceSum": {1: "axes"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Split": {1: "split"},
    "Squeeze": {1: "axes"},
    "TopK": {1: "k"},
    "Unsqueeze": {1: "axes"},
    **{
        f"Reduce{kind}": {1: "axes"}
        for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
    },
}
#: Attributes of one number; the others are lists.
_SINGLE = ("min", "max", "ratio", "value", "k")
#: Operators whose default axis was another one.
_LAST_AXIS = ("Softmax", "LogSoftmax", "Hardmax")
#: The first version in which each of those means its last axis.
_LAST_AXIS_SINCE = 13


def for_old_readers(model: Any, batch: int | None) -> Any:
    """A copy of an ONNX model that says the same in the words of operators' version 8.

    Args:
        model: ``onnx.ModelProto``.
        batch: the size that a free first axis is given: sizes that are computed become constants.

    Raises:
        NotImplementedError: an operator is told something that it could not be told then.
    """
    from onnx import ModelProto, helper, numpy_helper

    copy = ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    version = max((o.version for o in model.opset_import if not o.domain), default=1)
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim[:1]:
            if not dim.HasField("dim_value") and batch is not None:
                dim.dim_value = batch
    _fold(copy)
    nodes = list(graph.node)
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in nodes:
        _put_back(node, known)
        if node.op_type in _LAST_AXIS and not node.attribute and version >= _LAST_AXIS_SINCE:
            node.attribute.append(helper.make_attribute("axis", -1))
    del graph.node[:]
    graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    there = {value.name for value in graph.input}
    graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in kept
        if tensor.name not in there
    )
    return copy


def _fold(model: Any) -> None:
    """Make constants of all nodes that read nothing but constants and known sizes."""
    from onnx import numpy_helper, shape_inference

    graph = model.graph
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    folded = True
    while folded:  # constant sizes let more shapes be inferred
        folded = False
        del graph.value_info[:]
        inferred = shape_inference.infer_shapes(model, data_prop=True).graph
        shapes = {v.name: _shape(v) for v in (*inferred.value_info, *inferred.input)}
        left = []
        for node in graph.node:
            values = _folded(node, known, shapes, model.opset_import)
            if values is None:
                left.append(node)
                continue
            folded = True
            for name, value in zip(node.output, values, strict=True):
                known[name] = value
                graph.initializer.append(numpy_helper.from_array(value, name))
        del graph.node[:]
        graph.node.extend(left)


def _folded(
    node: Any, known: dict[str, NDArray[Any]], shapes: dict[str, list[int] | None], opsets: Any
) -> list[NDArray[Any]] | None:
    """What a node gives whatever the model's inputs are; None where it depends on them."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    if node.op_type == "Shape" and shapes.get(node.input[0]) is not None:
        whole = shapes[node.input[0]]
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        return [np.asarray(whole, np.int64)[given.get("start", 0) : given.get("end")]]
    if not all(name in known for name in node.input if name):
        return None
    if any(attribute.HasField("g") for attribute in node.attribute):
        return None
    names = [name for name in dict.fromkeys(node.input) if name]
    graph = helper.make_graph(
        [node],
        "constant",
        [helper.make_empty_tensor_value_info(name) for name in names],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    alone = helper.make_model(graph, opset_imports=opsets)
    results = ReferenceEvaluator(alone).run(None, {name: known[name] for name in names})
    return [np.asarray(result) for result in results]


def _shape(value: Any) -> list[int] | None:
    """The sizes of a value, None where one is not known."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
    return None if -1 in sizes else sizes


def _put_back(node: Any, known: dict[str, NDArray[Any]]) -> None:
    """Inputs that were attributes become attributes."""
    from onnx import helper

    moved = _MOVED.get(node.op_type, {})
    for at, name in moved.items():
        given = node.input[at] if at < len(node.input) else ""
        if not given:
            continue
        if given not in known:
            raise NotImplementedError(f"{node.op_type}: its {name} is computed: not supported")
        values = known[given]
        if name == "steps":
            if (values != 1).any():
                raise NotImplementedError(f"{node.op_type}: its steps are not supported")
            continue
        value = values.reshape(-1)[0].item() if name in _SINGLE else values.reshape(-1).tolist()
        node.attribute.append(helper.make_attribute(name, value))
    if moved:
        del node.input[min(moved) :]
    while node.input and not node.input[-1]:
        del node.input[-1]
    if "" in node.input:
        raise NotImplementedError(f"{node.op_type}: an input left out is not supported")
