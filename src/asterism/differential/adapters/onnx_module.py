"""ONNX files as PyTorch modules: what the packages that make them have in common."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import FileLibrary
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
