"""OpenVINO on the files of all ONNX converters."""

from __future__ import annotations

from asterism.differential.adapters.code import Code
from asterism.differential.adapters.library import LIBRARIES, FileLibrary

#: OpenVINO's precision hints, by the ending of an option.
HINTS = {"": "f32", "_f16": "f16", "_bf16": "bf16"}


@LIBRARIES.register("openvino")
class OpenVino(FileLibrary):
    """OpenVINO's CPU plug-in, computing in float32 or as a precision hint says."""

    name = "openvino"
    packages = ("openvino",)
    suffix = ".onnx"
    endings = tuple(HINTS)
    unsupported = (r"OpConversionFailure", r"wasn't fully converted", r"No translator found")

    def precision(self, option: str) -> str | None:
        """BFloat16 for both hints: processors without float16 take it for float16, too."""
        return None if _hint(option) == "f32" else "bfloat16"

    def code(self, option: str) -> Code:
        """See :class:`Library`; by default the plug-in may compute in bfloat16 where it can."""
        return code("core.read_model(path)", _hint(option))


def code(model: str, hint: str, *imports: str) -> Code:
    """A compiled model of one thread.

    Args:
        model: the expression that reads it.
        hint: of the precision.
        imports: beside OpenVINO's own.
    """
    return Code(
        ("import openvino as ov", *imports),
        f"""core = ov.Core()
settings = {{"INFERENCE_PRECISION_HINT": "{hint}", "INFERENCE_NUM_THREADS": 1}}
compiled = core.compile_model({model}, "CPU", settings)""",
        "outputs = [y.copy() for y in compiled(inputs).to_tuple()]",
    )


def _hint(option: str) -> str:
    """OpenVINO's name of the precision that an option asks for."""
    return HINTS[max((ending for ending in HINTS if option.endswith(ending)), key=len)]
