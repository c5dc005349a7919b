"""ONNX graphs: what their nodes take, in which order they can run, and writing and widening them.

Workers of the libraries import this module, so it imports onnx only where it is used.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto


def opset_versions(model: Any) -> dict[str, int]:
    """Versions of a model's operator sets, by domain; ONNX' own is ``""``."""
    return {("" if e.domain == "ai.onnx" else e.domain): e.version for e in model.opset_import}


def own_opset(model: Any) -> int:
    """Version of ONNX' own operator set in a model, 0 where it imports none."""
    return opset_versions(model).get("", 0)


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs in a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def node_inputs(node: Any) -> Iterator[str]:
    """Names of all tensors that a node takes, also those that only its inner graphs take."""
    yield from (name for name in node.input if name)
    for inner in subgraphs(node):
        own = {value.name for value in inner.input} | {c.name for c in inner.initializer}
        own |= {name for part in inner.node for name in part.output}
        taken = [name for part in inner.node for name in node_inputs(part)]
        yield from (n for n in [*taken, *(o.name for o in inner.output)] if n not in own)


def topological_order(nodes: Sequence[Any]) -> list[int]:
    """Indices of nodes so that each stands behind those whose tensors it takes.

    Of nodes that are ready, the one that stands first in the file comes first.
    """
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waiting: TopologicalSorter[int] = TopologicalSorter()
    for index, node in enumerate(nodes):
        waiting.add(index, *{makers[name] for name in node_inputs(node) if name in makers})
    with suppress(CycleError):  # of what waits for itself, the rest is ordered
        waiting.prepare()
    ready, found = list(waiting.get_ready()), list[int]()
    heapq.heapify(ready)
    while ready:
        found.append(heapq.heappop(ready))
        waiting.done(found[-1])
        for index in waiting.get_ready():
            heapq.heappush(ready, index)
    return found


def sort_nodes(graph: Any) -> None:
    """Put the nodes of a graph in an order in which they can run, in place.

    ONNX asks for it, some converters append to the end, and ONNX Runtime does without. A graph that
    is in order stays as it is, and so does one that has no order.
    """
    nodes = list(graph.node)
    order = topological_order(nodes)
    if order != sorted(order) and len(order) == len(nodes):
        copies = [type(nodes[at]).FromString(nodes[at].SerializeToString()) for at in order]
        del graph.node[:]
        graph.node.extend(copies)


def with_outputs(model: Any, tensors: Iterable[str]) -> Any:
    """A copy of a model that also gives these tensors."""
    copy = deepcopy(model)
    known = {output.name for output in copy.graph.output}
    for tensor in tensors:
        if tensor not in known:
            copy.graph.output.add(name=tensor)
    return copy


#: Types of floats, the narrower ones first.
_FLOATS = ("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE")
#: Attributes that name the type of what a node makes.
_TYPES = ("to", "dtype")

#: Inputs that decide about shapes or axes, by operator: exact numbers, which no rounding moves.
_EXACT = {"Resize": (1, 2, 3), "Upsample": (1,), "Range": (0, 1, 2), "OneHot": (1,)}

Change = Callable[[NDArray[Any]], NDArray[Any]]


def in_float64(model: ModelProto, change: Change | None = None) -> ModelProto:
    """A copy of a model that computes in float64 what it computed in narrower floats.

    Args:
        model: the model.
        change: what happens to the floating initialisers, such as a perturbation; None: nothing.
    """
    return _widened(model, "DOUBLE", change)


def in_float32(model: ModelProto) -> ModelProto:
    """A copy of a model that computes in float32 what it computed in 16 bits."""
    return _widened(model, "FLOAT", None)


def _widened(model: ModelProto, float_type: str, change: Change | None) -> ModelProto:
    from onnx import TensorProto

    *narrow, wide = map(TensorProto.DataType.Value, _FLOATS[: _FLOATS.index(float_type) + 1])
    copy = deepcopy(model)
    for graph in _graphs(copy.graph):
        exact = {
            node.input[at]
            for node in graph.node
            for at in _EXACT.get(node.op_type, ())
            if at < len(node.input)
        }
        for constant in graph.initializer:
            keep = change is None or constant.name in exact
            _widen(constant, narrow, wide, None if keep else change)
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if kind.elem_type in narrow:
                kind.elem_type = wide
        for node in graph.node:
            _widen_node(node, narrow, wide)
    return copy


def _widen_node(node: Any, narrow: Sequence[int], wide: int) -> None:
    from onnx import AttributeProto, helper, numpy_helper

    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            _widen(attribute.t, narrow, wide, None)
        elif attribute.name in _TYPES and attribute.i in narrow:
            attribute.i = wide
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    if node.op_type == "ConstantOfShape" and not node.attribute:  # float32 by default
        zero = numpy_helper.from_array(np.zeros(1, dtype))
        node.attribute.append(helper.make_attribute("value", zero))
    if node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.name in ("value_float", "value_floats"):
                given = attribute.f if attribute.name == "value_float" else list(attribute.floats)
                constant = numpy_helper.from_array(np.asarray(given, dtype))
                attribute.CopyFrom(helper.make_attribute("value", constant))


def _widen(tensor: Any, narrow: Sequence[int], wide: int, change: Change | None) -> None:
    from onnx import helper, numpy_helper

    if tensor.data_type in narrow:
        dtype = helper.tensor_dtype_to_np_dtype(wide)
        array = np.asarray(numpy_helper.to_array(tensor)).astype(dtype)
        wider = numpy_helper.from_array(array if change is None else change(array), tensor.name)
        tensor.CopyFrom(wider)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those inside of its nodes."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from _graphs(inner)


class GraphBuilder:
    """Collects nodes and constants; values are named by counting, so equal graphs are equal.

    Args:
        name: the graph's name.
        merged: whether the graph is merged into another. Then its nodes have names too, and all
            names begin with the graph's, so that they are unique in the merged graph.
    """

    def __init__(self, name: str, *, merged: bool = False) -> None:
        self._name, self._merged = name, merged
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names = 0

    def constant(self, values: NDArray[Any]) -> str:
        """The name of a constant."""
        from onnx import numpy_helper

        name = self._fresh(f"constant_{len(self._constants)}")
        self._constants.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def add(self, operator: str, *inputs: str, named: str = "", **attributes: Any) -> str:
        """Add a node with one output, and give the output's name.

        Args:
            operator: the node's type.
            inputs: names of values and constants.
            named: the output's name, where it must have a certain one.
            attributes: of the node.
        """
        output = named or self._fresh(f"value_{len(self._nodes)}_0")
        self._append(operator, inputs, [output], attributes)
        return output

    def add_all(self, operator: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs, and give their names."""
        names = [self._fresh(f"value_{len(self._nodes)}_{i}") for i in range(outputs)]
        self._append(operator, inputs, names, attributes)
        return names

    def model(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        opsets: Mapping[str, int],
        ir_version: int,
    ) -> Any:
        """The finished model, checked.

        Args:
            inputs: what the graph takes, as ``onnx.helper.make_tensor_value_info`` describes it.
            outputs: what it gives.
            opsets: versions of the operator sets, by their domains.
            ir_version: version of the file format.
        """
        from onnx import checker, helper

        graph = helper.make_graph(self._nodes, self._name, inputs, outputs, self._constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
        checker.check_model(model)
        return model

    def _append(
        self, operator: str, inputs: Sequence[str], outputs: list[str], attributes: dict[str, Any]
    ) -> None:
        from onnx import helper

        name = f"{self._name}_{operator}_{len(self._nodes)}" if self._merged else None
        self._nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))

    def _fresh(self, what: str) -> str:
        self._names += 1
        return f"{self._name}_{what}" if self._merged else f"t{self._names}"
