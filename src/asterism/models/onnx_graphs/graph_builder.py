"""Writing ONNX graphs node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper


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
        graph = helper.make_graph(self._nodes, self._name, inputs, outputs, self._constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
        onnx.checker.check_model(model)
        return model

    def _append(
        self, operator: str, inputs: Sequence[str], outputs: list[str], attributes: dict[str, Any]
    ) -> None:
        name = f"{self._name}_{operator}_{len(self._nodes)}" if self._merged else None
        self._nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))

    def _fresh(self, what: str) -> str:
        self._names += 1
        return f"{self._name}_{what}" if self._merged else f"t{self._names}"
