"""ONNX's own reference evaluator in NumPy: in float64, what a given file computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.backends import OF_ONNX
from asterism.libraries.adapters.code import Arrays, Code
from asterism.libraries.adapters.library import GIVEN, LIBRARIES, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.onnx_float64 import in_float64
from asterism.libraries.adapters.quantised_operators import operators
from asterism.libraries.adapters.reference import (
    PERTURBATIONS,
    STAND_INS,
    STEPPED,
    perturbed,
    probed,
)


@LIBRARIES.register("onnx_reference")
class OnnxReference(FileLibrary):
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
        """See :class:`FileLibrary`; it is old enough for every version that has an environment."""
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

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """The file in float64; off by rounding or a step; without special numbers in the inputs."""
        return ("float64", *PERTURBATIONS, STEPPED, *STAND_INS)

    def _written(self, option: str) -> str:
        return GIVEN

    def code(self, option: str) -> Code:
        """None: a reference computes what no library's own words would."""
        raise NotImplementedError(f"{self.name} is no library under test")

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The evaluator of the model in float64, its inputs' names, and what changes them.

        Files of the format's early versions name their weights among the inputs.
        """
        import onnx
        from onnx.reference import ReferenceEvaluator

        model = onnx.load(self.path(model_under_test, option))
        change = partial(perturbed, option=option) if option in PERTURBATIONS else None
        opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
        known: list[Any] = operators(opset, off_by_a_step=option == STEPPED)
        constants = {constant.name for constant in model.graph.initializer}
        names = [v.name for v in model.graph.input if v.name not in constants]
        return ReferenceEvaluator(in_float64(model, change), new_ops=known), names, option

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        evaluator, names, option = compiled
        if option in PERTURBATIONS:
            inputs = [perturbed(i, option) for i in inputs]
        given = [probed(i, option) for i in inputs] if option in STAND_INS else inputs
        return list(evaluator.run(None, dict(zip(names, given, strict=True))))
