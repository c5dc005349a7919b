"""Programs of ``torch.export``, exported to ONNX by PyTorch and run by ONNX Runtime."""

from __future__ import annotations

from asterism.differential.adapters.code import SHAPES, Code
from asterism.differential.adapters.library import LIBRARIES, FileLibrary

#: ONNX Runtime's level of optimisation by the ending of an option.
_LEVELS = {"": "ORT_DISABLE_ALL", "_optimised": "ORT_ENABLE_ALL"}


@LIBRARIES.register("onnx_program")
class OnnxProgram(FileLibrary):
    """PyTorch's ONNX exporter on an exported program (``.pt2``), its file in ONNX Runtime.

    The exporter is the one that traces, which needs no other package. It takes the shapes that the
    model is first run with.
    """

    name = "onnx_program"
    packages = ("torch", "onnx", "onnxruntime")
    suffix = ".pt2"
    endings = _LEVELS
    unsupported = (r"UnsupportedOperatorError", r"Could not find an implementation")

    def start(self) -> None:
        """See :class:`Library`; ONNX Runtime says errors only."""
        import onnxruntime as ort

        super().start()
        ort.set_default_logger_severity(3)

    def code(self, option: str) -> Code:
        """See :class:`Library`."""
        return Code(
            ("import io", "import onnxruntime as ort", "import torch"),
            f"""module = torch.export.load(path).module(check_guards=False)
module = torch.fx.GraphModule(module, module.graph)  # which can be set to inference
file, given = io.BytesIO(), tuple(torch.from_numpy(x.copy()) for x in inputs)
torch.onnx.export(module, given, file, dynamo=False, opset_version=18)
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.{self.way(option)}
session = ort.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])""",
            "outputs = session.run("
            "None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})",
            SHAPES,
        )
