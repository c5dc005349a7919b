"""OpenVINO on the files of all ONNX converters."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary


@LIBRARIES.register("openvino")
class OpenVino(FileLibrary):
    """OpenVINO's CPU plug-in, computing in float32 or as a precision hint says."""

    name = "openvino"
    packages: ClassVar[tuple[str, ...]] = ("openvino",)
    suffix = ".onnx"
    endings: ClassVar = {"": "f32", "_f16": "f16", "_bf16": "bf16"}
    unsupported = (r"OpConversionFailure", r"wasn't fully converted", r"No translator found")
    #: Lines that import what reads the file at ``path``, beside OpenVINO, and how it is read.
    imports: ClassVar[tuple[str, ...]] = ()
    reading = "core.read_model(path)"

    def precision(self, option: str) -> str | None:
        """BFloat16 for both hints: processors without float16 take it for float16, too."""
        return None if self.way(option) == "f32" else "bfloat16"

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; by default the plug-in may compute in bfloat16 where it can."""
        return BackendCode(
            ("import openvino as ov", *self.imports),
            f"""core = ov.Core()
settings = {{"INFERENCE_PRECISION_HINT": "{self.way(option)}", "INFERENCE_NUM_THREADS": 1}}
compiled = core.compile_model({self.reading}, "CPU", settings)""",
            "outputs = [y.copy() for y in compiled(inputs).to_tuple()]",
        )
