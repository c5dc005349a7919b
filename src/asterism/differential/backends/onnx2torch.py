"""PyTorch by way of ONNX: the packages onnx2torch and onnx2pytorch."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.adapters.torchvision import stand_in_where_broken


class OnnxModule(FileLibrary):
    """A package that turns an ONNX file into a PyTorch module."""

    suffix = ".onnx"
    #: Lines that import the package, and the expression of the module of the file at ``path``.
    imports: ClassVar[tuple[str, ...]]
    loading: ClassVar[str]

    def start(self) -> None:
        """See :class:`Library`; torchvision may not fit the installed PyTorch."""
        stand_in_where_broken()
        super().start()

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`."""
        return BackendCode(
            (*self.imports, "import torch"),
            f"module = {self.loading}.eval()",
            """with torch.no_grad():
    outputs = module(*(torch.from_numpy(x.copy()) for x in inputs))
outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
outputs = [y.detach().numpy() for y in outputs]""",
        )


@LIBRARIES.register("onnx2torch")
class Onnx2Torch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2torch."""

    name = "onnx2torch"
    packages = ("onnx2torch", "torch", "onnx")
    unsupported = (r"Converter is not registered", r"NotImplementedError")
    stated_limits = (r"results might differ",)
    imports = ("import onnx2torch",)
    loading = "onnx2torch.convert(path)"


@LIBRARIES.register("onnx2pytorch")
class Onnx2PyTorch(OnnxModule):
    """ONNX files as PyTorch modules, by onnx2pytorch."""

    name = "onnx2pytorch"
    packages = ("onnx2pytorch", "torch", "onnx")
    unsupported = (r"Conversion not implemented", r"Unexpected (node|kernel)")
    stated_limits = (r"uses no .*Result might differ",)
    imports = ("import onnx", "from onnx2pytorch import ConvertModel")
    loading = "ConvertModel(onnx.load(path))"
