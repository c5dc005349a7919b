"""OpenVINO on programs that ``torch.export.save`` wrote, read by its own PyTorch front end."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import Code
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.backends.openvino import HINTS, code


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

    def code(self, option: str) -> Code:
        """See :class:`Library`."""
        model = "ov.convert_model(torch.export.load(path))"
        return code(model, _hint(option), "import torch")


def _hint(option: str) -> str:
    """OpenVINO's name of the precision that an option asks for."""
    return HINTS[max((ending for ending in HINTS if option.endswith(ending)), key=len)]
