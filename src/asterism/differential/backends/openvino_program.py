"""OpenVINO on programs that ``torch.export.save`` wrote, read by its own PyTorch front end."""

from __future__ import annotations

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.openvino import OpenVino


@LIBRARIES.register("openvino_program")
class OpenVinoProgram(OpenVino):
    """OpenVINO's CPU plug-in on an exported PyTorch program (``.pt2``)."""

    name = "openvino_program"
    packages = ("openvino", "torch")
    suffix = ".pt2"
    imports = ("import torch",)
    reading = "ov.convert_model(torch.export.load(path))"
