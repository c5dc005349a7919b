"""Exported PyTorch programs in float64: what a given ``.pt2`` file computes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.code import Arrays, Code
from asterism.libraries.adapters.library import GIVEN, LIBRARIES, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.programs import constants_of, in_float64, module_of, run_module
from asterism.libraries.adapters.reference import (
    PERTURBATIONS,
    STAND_INS,
    FileReferences,
    perturbed,
    probed,
)


@LIBRARIES.register("program_reference")
class ProgramReference(FileLibrary):
    """PyTorch's eager kernels in float64 on an exported program; no compiler enters."""

    name = "program_reference"
    packages = ("torch",)
    suffix = ".pt2"
    references = FileReferences("program_reference", "pytorch_program")

    @classmethod
    def trivial(cls) -> bytes:
        """See :class:`FileLibrary`; it is for the batch of one that it is tried with."""
        import torch

        class Twice(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + x

        file = io.BytesIO()
        torch.export.save(torch.export.export(Twice(), (torch.zeros(1, 3),)), file)
        return file.getvalue()

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """The program in float64; off by rounding; without special numbers in the inputs."""
        return ("float64", *PERTURBATIONS, *STAND_INS)

    def _written(self, option: str) -> str:
        return GIVEN

    def start(self) -> None:
        """One thread, and float64 for steps that name no type."""
        import torch

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)

    def code(self, option: str) -> Code:
        """None: a reference computes what no library's own words would."""
        raise NotImplementedError(f"{self.name} is no library under test")

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The module in float64, and the option, which changes its inputs."""
        import torch

        module = in_float64(module_of(self.path(model_under_test, option)))
        if option in PERTURBATIONS:
            for tensor in constants_of(module):
                if tensor.is_floating_point():
                    tensor.data = torch.from_numpy(perturbed(tensor.detach().numpy(), option))
        return module, option

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        module, option = compiled
        given = list(inputs)
        if option in PERTURBATIONS:
            given = [perturbed(i, option) for i in inputs]
        if option in STAND_INS:
            given = [probed(i, option) for i in inputs]
        return run_module(module, given)
