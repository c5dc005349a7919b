"""Exported PyTorch programs in float64: what a given ``.pt2`` file computes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.differential.adapters.code import Arrays, Prepared
from asterism.differential.adapters.library import LIBRARIES, FileReference
from asterism.differential.adapters.programs import constants_of, in_float64
from asterism.differential.adapters.reference import PERTURBATIONS, ReferenceRuns, perturbed
from asterism.differential.backends.pytorch_program import PyTorchProgram


@LIBRARIES.register("program_reference")
class ProgramReference(FileReference):
    """PyTorch's eager kernels in float64 on an exported program; no compiler enters."""

    name = "program_reference"
    packages = ("torch",)
    suffix = ".pt2"
    references = ReferenceRuns("program_reference", kin="pytorch_program")

    @classmethod
    def trivial(cls) -> bytes:
        """See :class:`FileReference`; it is for the batch of one that it is tried with."""
        import torch

        class Twice(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + x

        file = io.BytesIO()
        torch.export.save(torch.export.export(Twice(), (torch.zeros(1, 3),)), file)
        return file.getvalue()

    def start(self) -> None:
        """See :class:`Library`; float64 is for steps that name no type."""
        import torch

        super().start()
        torch.set_default_dtype(torch.float64)

    def open(self, path: Path, option: str) -> Callable[[Sequence[NDArray[Any]]], Arrays]:
        """The program as PyTorch itself runs it, its module in float64."""
        import torch

        opened = Prepared(PyTorchProgram().code(""), {"path": str(path)})
        module = in_float64(opened.space([])["module"])
        if option in PERTURBATIONS:
            for tensor in constants_of(module):
                if tensor.is_floating_point():
                    tensor.data = torch.from_numpy(perturbed(tensor.detach().numpy(), option))
        return opened.run
