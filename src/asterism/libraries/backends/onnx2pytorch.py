"""PyTorch by way of ONNX: onnx2pytorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.library import LIBRARIES, Arrays, Library
from asterism.libraries.subject import Subject
from asterism.libraries.torchvision import stand_in_where_broken


@LIBRARIES.register("onnx2pytorch")
class Onnx2PyTorch(Library):
    """ONNX files as PyTorch modules, by onnx2pytorch."""

    name = "onnx2pytorch"
    packages = ("onnx2pytorch", "torch", "onnx")
    options = ("keras_onnx", "tf2onnx")
    unsupported = (r"Conversion not implemented", r"Unexpected (node|kernel)")

    def start(self) -> None:
        """One thread."""
        stand_in_where_broken()
        import onnx2pytorch  # noqa: F401
        import torch

        torch.set_num_threads(1)

    def source(self, option: str) -> str:
        """The option is the converter's name."""
        return option

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return """
def run(path, inputs):
    import torch
    import onnx
    from onnx2pytorch import ConvertModel

    model = ConvertModel(onnx.load(path)).eval()
    with torch.no_grad():
        outputs = model(*(torch.from_numpy(i) for i in inputs))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [o.numpy() for o in outputs]
"""

    def compile(self, subject: Subject, option: str) -> Any:
        """A PyTorch module."""
        import onnx
        from onnx2pytorch import ConvertModel

        return ConvertModel(onnx.load(str(subject.file(option, ".onnx")))).eval()

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import torch

        with torch.no_grad():
            outputs = compiled(*(torch.from_numpy(i.copy()) for i in inputs))
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.detach().numpy() for o in many]
