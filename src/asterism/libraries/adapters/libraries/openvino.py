"""OpenVINO on the files of all ONNX converters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest

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

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return self._script(option, "")

    def script_after(self, option: str, first: str) -> str:
        """The same after other inputs."""
        return self._script(option, f"    compiled([{first} for i in inputs])\n")

    def _script(self, option: str, before: str) -> str:
        return f"""
def run(path, inputs):
    import openvino as ov

    core = ov.Core()
    compiled = core.compile_model(
        core.read_model(path), "CPU", {{"INFERENCE_PRECISION_HINT": "{_hint(option)}"}}
    )
{before}    result = compiled(inputs)
    return [result[i] for i in range(len(compiled.outputs))]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A compiled model of one thread."""
        import openvino as ov

        core = ov.Core()
        model = core.read_model(self.path(model_under_test, option))
        # By default the plug-in may compute in bfloat16 where the processor can.
        settings = {"INFERENCE_PRECISION_HINT": _hint(option), "INFERENCE_NUM_THREADS": 1}
        return core.compile_model(model, "CPU", settings)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        result = compiled(list(inputs))
        return [result[i].copy() for i in range(len(compiled.outputs))]


def _hint(option: str) -> str:
    """OpenVINO's name of the precision that an option asks for."""
    return HINTS[max((ending for ending in HINTS if option.endswith(ending)), key=len)]
