"""Programs of ``torch.export``, exported to ONNX by PyTorch and run by ONNX Runtime."""

from __future__ import annotations

from asterism.differential.adapters.code import SHAPES, BackendCode
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.onnxruntime import OnnxRuntime

#: ONNX Runtime's level of optimisation by the ending of an option.
_LEVELS = {"": "ORT_DISABLE_ALL", "_optimised": "ORT_ENABLE_ALL"}


@LIBRARIES.register("onnx_program")
class OnnxProgram(OnnxRuntime):
    """PyTorch's ONNX exporter on an exported program (``.pt2``), its file in ONNX Runtime.

    The exporter is the one that traces, which needs no other package. It takes the shapes that the
    model is first run with.
    """

    name = "onnx_program"
    packages = ("torch", "onnx", "onnxruntime")
    suffix = ".pt2"
    endings = _LEVELS
    unsupported = (r"UnsupportedOperatorError", r"Could not find an implementation")

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`."""
        runtime = super().code(option)
        return BackendCode(
            ("import io", "import torch", *runtime.imports),
            f"""module = torch.export.load(path).module(check_guards=False)
module = torch.fx.GraphModule(module, module.graph)  # which can be set to inference
file, given = io.BytesIO(), tuple(torch.from_numpy(x.copy()) for x in inputs)
torch.onnx.export(module, given, file, dynamo=False, opset_version=18)
path = file.getvalue()
{runtime.prepare}""",
            runtime.call,
            SHAPES,
        )
