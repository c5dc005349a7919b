"""PyTorch by way of ONNX: onnx2torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.adapters.onnx_module import OnnxModule


@LIBRARIES.register("onnx2torch")
class Onnx2Torch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2torch."""

    name = "onnx2torch"
    packages = ("onnx2torch", "torch", "onnx")
    unsupported = (r"Converter is not registered", r"NotImplementedError")
    stated_limits = (r"results might differ",)
    loading = ("import onnx2torch", "", "module = onnx2torch.convert(path)")

    def load(self, path: Path) -> Any:
        """See :meth:`OnnxModule.load`."""
        import onnx2torch

        return onnx2torch.convert(str(path))
