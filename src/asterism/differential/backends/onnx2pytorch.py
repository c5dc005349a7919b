"""PyTorch by way of ONNX: onnx2pytorch."""

from __future__ import annotations

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.onnx_module import OnnxModule


@LIBRARIES.register("onnx2pytorch")
class Onnx2PyTorch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2pytorch."""

    name = "onnx2pytorch"
    packages = ("onnx2pytorch", "torch", "onnx")
    unsupported = (r"Conversion not implemented", r"Unexpected (node|kernel)")
    stated_limits = (r"uses no .*Result might differ",)
    imports = ("import onnx", "from onnx2pytorch import ConvertModel")
    loading = "ConvertModel(onnx.load(path))"
