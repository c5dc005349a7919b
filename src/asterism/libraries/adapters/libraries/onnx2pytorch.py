"""PyTorch by way of ONNX: onnx2pytorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.adapters.onnx_module import OnnxModule


@LIBRARIES.register("onnx2pytorch")
class Onnx2PyTorch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2pytorch."""

    name = "onnx2pytorch"
    packages = ("onnx2pytorch", "torch", "onnx")
    unsupported = (r"Conversion not implemented", r"Unexpected (node|kernel)")
    stated_limits = (r"uses no .*Result might differ",)
    loading = (
        "import onnx",
        "from onnx2pytorch import ConvertModel",
        "",
        "module = ConvertModel(onnx.load(path))",
    )

    def load(self, path: Path) -> Any:
        """See :meth:`OnnxModule.load`."""
        import onnx
        from onnx2pytorch import ConvertModel

        return ConvertModel(onnx.load(str(path)))
