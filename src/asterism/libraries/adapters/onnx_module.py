"""ONNX files as PyTorch modules: what the packages that make them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.libraries.adapters.library import Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.torchvision import stand_in_where_broken


class OnnxModule(FileLibrary):
    """A package that turns an ONNX file into a PyTorch module."""

    suffix = ".onnx"
    #: How a reproducer makes ``module`` of the file at ``path``, in lines of Python.
    loading: ClassVar[tuple[str, ...]]

    @abstractmethod
    def load(self, path: Path) -> Any:
        """The PyTorch module of a file."""

    def start(self) -> None:
        """One thread."""
        stand_in_where_broken()
        import torch

        torch.set_num_threads(1)

    def script(self, option: str) -> str:
        """Source of a function that runs a converted file."""
        lines = indent("\n".join(self.loading), "    ")
        return f"""
def run(path, inputs):
    import torch
{lines}
    module.eval()
    with torch.no_grad():
        outputs = module(*(torch.from_numpy(i) for i in inputs))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [o.numpy() for o in outputs]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A PyTorch module in inference mode."""
        return self.load(self.path(model_under_test, option)).eval()

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import torch

        with torch.no_grad():
            outputs = compiled(*(torch.from_numpy(i.copy()) for i in inputs))
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.detach().numpy() for o in many]
