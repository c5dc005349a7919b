"""Writing small ONNX graphs node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

#: What ONNX Runtime of today and of a few years ago reads.
OPSET = 13
_ML_OPSET = 3
_IR_VERSION = 8


class GraphBuilder:
    """Collects nodes and constants; values are named by counting, so equal graphs are equal."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: NDArray[Any]) -> str:
        """The name of a constant."""
        name = f"repair_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Add a node; the name of its last output."""
        names = [f"repair_value_{len(self.nodes)}_{i}" for i in range(outputs)]
        self._append(operator, list(inputs), names, attributes)
        return names[-1]

    def add_named(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        """Add a node whose output has a name of its own."""
        self._append(operator, inputs, [output], attributes)

    def first_output(self) -> str:
        """The first output of the node that was added last."""
        return str(self.nodes[-1].output[0])

    def model(self, inputs: list[Any], outputs: list[Any], opset: int = OPSET) -> Any:
        """The finished model."""
        graph = helper.make_graph(self.nodes, "repair", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _append(
        self, operator: str, inputs: list[str], outputs: list[str], attributes: dict[str, Any]
    ) -> None:
        name = f"repair_{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))
