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


def for_old_readers(model: Any) -> Any:
    """A copy of an ONNX model that says the same in the words of operators' version 8.

    Raises:
        NotImplementedError: an operator is told something that it could not be told then.
    """
    from onnx import ModelProto, helper, numpy_helper

    copy = ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    version = max((o.version for o in model.opset_import if not o.domain), default=1)
    nodes = []
    for node in graph.node:
        if node.op_type == "Constant":
            graph.initializer.append(numpy_helper.from_array(_constant(node), node.output[0]))
        else:
            nodes.append(node)
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


def _constant(node: Any) -> NDArray[Any]:
    from onnx import helper, numpy_helper

    (attribute,) = node.attribute
    if attribute.name == "value":
        array: NDArray[Any] = numpy_helper.to_array(attribute.t)
        return array
    kind = np.float32 if "float" in attribute.name else np.int64
    return np.asarray(helper.get_attribute_value(attribute), kind)


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
