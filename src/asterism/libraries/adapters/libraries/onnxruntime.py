"""ONNX Runtime on the files of all ONNX converters, with graph optimisations off and on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@LIBRARIES.register("onnxruntime")
class OnnxRuntime(FileLibrary):
    """ONNX Runtime on the CPU."""

    name = "onnxruntime"
    packages = ("onnxruntime",)
    suffix = ".onnx"
    endings = ("", "_optimised")
    unsupported = (
        r"Could not find an implementation",
        r"NOT_IMPLEMENTED",
        r"is under development and support for this is limited",  # operators newer than it
    )

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        level = "ORT_ENABLE_ALL" if option.endswith("_optimised") else "ORT_DISABLE_ALL"
        return f"""
def run(path, inputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.{level}
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """An inference session of one thread."""
        import onnxruntime as ort

        settings = ort.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        level = ort.GraphOptimizationLevel
        optimised = option.endswith("_optimised")
        settings.graph_optimization_level = (
            level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
        )
        path = self.path(model_under_test, option)
        return ort.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays. Converters keep the order of a model's inputs; some rename them."""
        names = [i.name for i in compiled.get_inputs()]
        return list(compiled.run(None, dict(zip(names, inputs, strict=True))))
