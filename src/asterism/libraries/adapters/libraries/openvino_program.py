"""OpenVINO on programs that ``torch.export.save`` wrote, read by its own PyTorch front end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.libraries.adapters.libraries.openvino import HINTS
from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@LIBRARIES.register("openvino_program")
class OpenVinoProgram(FileLibrary):
    """OpenVINO's CPU plug-in on an exported PyTorch program (``.pt2``)."""

    name = "openvino_program"
    packages = ("openvino", "torch")
    suffix = ".pt2"
    endings: ClassVar[tuple[str, ...]] = tuple(HINTS)
    unsupported = (r"OpConversionFailure", r"wasn't fully converted", r"No translator found")

    def start(self) -> None:
        """One thread for PyTorch, which loads the file."""
        import torch

        torch.set_num_threads(1)

    def precision(self, option: str) -> str | None:
        """BFloat16 for both hints, as for ONNX files."""
        return None if _hint(option) == "f32" else "bfloat16"

    def script(self, option: str) -> str:
        """Source of a function that runs a program."""
        return f"""
def run(path, inputs):
    import openvino as ov
    import torch

    model = ov.convert_model(torch.export.load(path))
    compiled = ov.Core().compile_model(
        model, "CPU", {{"INFERENCE_PRECISION_HINT": "{_hint(option)}"}}
    )
    result = compiled(inputs)
    return [result[i] for i in range(len(compiled.outputs))]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A compiled model of one thread."""
        import openvino as ov
        import torch

        model = ov.convert_model(torch.export.load(self.path(model_under_test, option)))
        settings = {"INFERENCE_PRECISION_HINT": _hint(option), "INFERENCE_NUM_THREADS": 1}
        return ov.Core().compile_model(model, "CPU", settings)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        result = compiled(list(inputs))
        return [result[i].copy() for i in range(len(compiled.outputs))]


def _hint(option: str) -> str:
    """OpenVINO's name of the precision that an option asks for."""
    return HINTS[max((ending for ending in HINTS if option.endswith(ending)), key=len)]
