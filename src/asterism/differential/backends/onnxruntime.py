"""ONNX Runtime on the files of all ONNX converters, at each level of graph optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary

#: ONNX Runtime's names of the levels, by the ending of an option.
LEVELS = {
    "": "ORT_DISABLE_ALL",
    "_basic": "ORT_ENABLE_BASIC",
    "_extended": "ORT_ENABLE_EXTENDED",
    "_layout": "ORT_ENABLE_LAYOUT",
    "_optimised": "ORT_ENABLE_ALL",
}


@LIBRARIES.register("onnxruntime")
class OnnxRuntime(FileLibrary):
    """ONNX Runtime on the CPU."""

    name = "onnxruntime"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    suffix = ".onnx"
    endings: ClassVar[Mapping[str, str]] = LEVELS
    unsupported: ClassVar[tuple[str, ...]] = (
        r"Could not find an implementation",
        r"NOT_IMPLEMENTED",
        r"is under development and support for this is limited",  # operators newer than it
    )

    def start(self) -> None:
        """Say errors only."""
        import onnxruntime as ort

        super().start()
        ort.set_default_logger_severity(3)

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; converters keep the order of a model's inputs."""
        return BackendCode(
            ("import onnxruntime as ort",),
            f"""options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.{self.way(option)}
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])""",
            "outputs = session.run("
            "None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})",
        )
