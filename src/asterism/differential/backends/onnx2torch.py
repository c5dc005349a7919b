"""PyTorch by way of ONNX: onnx2torch."""

from __future__ import annotations

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.onnx_module import OnnxModule


@LIBRARIES.register("onnx2torch")
class Onnx2Torch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2torch."""

    name = "onnx2torch"
    packages = ("onnx2torch", "torch", "onnx")
    unsupported = (r"Converter is not registered", r"NotImplementedError")
    stated_limits = (r"results might differ",)
    imports = ("import onnx2torch",)
    loading = "onnx2torch.convert(path)"
