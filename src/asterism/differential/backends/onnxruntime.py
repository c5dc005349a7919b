"""ONNX Runtime on ONNX files at each level of optimisation, and on exported PyTorch programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from asterism.differential.adapters.code import SHAPES, BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.backends.pytorch_program import IMPORTS

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
        """Let ONNX Runtime report errors only."""
        import onnxruntime as ort

        super().start()
        ort.set_default_logger_severity(3)

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; converters keep the order of a model's inputs."""
        return BackendCode(
            ("import onnxruntime as ort",),
            f"""options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.{self.setting_of(option)}
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])""",
            "outputs = session.run("
            "None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})",
        )


@LIBRARIES.register("onnx_program")
class OnnxProgram(OnnxRuntime):
    """PyTorch's ONNX exporter on an exported program (``.pt2``), its file in ONNX Runtime.

    The exporter is the one that traces, which needs no other package. It takes the shapes that the
    model is first run with.
    """

    name = "onnx_program"
    packages = ("torch", "onnx", "onnxruntime")
    suffix = ".pt2"
    endings: ClassVar = {ending: LEVELS[ending] for ending in ("", "_optimised")}
    unsupported = (r"UnsupportedOperatorError", r"Could not find an implementation")

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`."""
        runtime = super().code(option)
        return BackendCode(
            ("import io", *IMPORTS, *runtime.imports),
            f"""module = torch.export.load(path).module(check_guards=False)
module = torch.fx.GraphModule(module, module.graph)  # which can be set to inference
file, given = io.BytesIO(), tuple(torch.from_numpy(x.copy()) for x in inputs)
torch.onnx.export(module, given, file, dynamo=False, opset_version=18)
path = file.getvalue()
{runtime.prepare}""",
            runtime.call,
            SHAPES,
        )
