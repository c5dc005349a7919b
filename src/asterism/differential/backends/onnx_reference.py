"""ONNX's own reference evaluator in NumPy: in float64, what a given file computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.adapters.code import Arrays
from asterism.differential.adapters.library import LIBRARIES, FileReference
from asterism.differential.reference.quantised_operators import reference_operators
from asterism.differential.reference.runs import PERTURBATIONS, STEPPED, perturb
from asterism.models.onnx_graphs import in_float64, own_opset


@LIBRARIES.register("onnx_reference")
class OnnxReference(FileReference):
    """The reference evaluator of the package ``onnx``; no library under test enters."""

    name = "onnx_reference"
    packages = ("onnx",)
    suffix = ".onnx"
    unsupported = (
        r"No (registered )?implementation for operator",
        r"OpRunImplementationError",
        r"RuntimeImplementationError",
    )
    references = OF_ONNX

    @classmethod
    def trivial(cls) -> bytes:
        """See :class:`FileReference`; old enough for every version that has an environment."""
        from onnx import TensorProto, helper

        shape = ("batch", 3)
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "x"], ["y"])],
            "trivial",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        )
        opset = [helper.make_opsetid("", 11)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=6)
        return bytes(model.SerializeToString())

    def open(self, path: Path, option: str) -> Callable[[Sequence[NDArray[Any]]], Arrays]:
        """See :class:`FileReference`.

        Files of the format's early versions name their weights among the inputs.
        """
        import onnx
        from onnx.reference import ReferenceEvaluator

        model = onnx.load(path)
        change = partial(perturb, option=option) if option in PERTURBATIONS else None
        opset = own_opset(model) or 1
        known: list[Any] = reference_operators(opset, off_by_a_step=option == STEPPED)
        constants = {constant.name for constant in model.graph.initializer}
        names = [v.name for v in model.graph.input if v.name not in constants]
        evaluator = ReferenceEvaluator(in_float64(model, change), new_ops=known)
        return lambda inputs: list(evaluator.run(None, dict(zip(names, inputs, strict=True))))
