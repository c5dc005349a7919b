"""OpenVINO: on ONNX files, on exported PyTorch programs, and through Keras' backend."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary, Library
from asterism.differential.backends.pytorch_program import IMPORTS


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
        return None if self.setting_of(option) == "f32" else "bfloat16"

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; by default the plug-in may compute in bfloat16 where it can."""
        return BackendCode(
            ("import openvino as ov", *self.imports),
            f"""core = ov.Core()
settings = {{"INFERENCE_PRECISION_HINT": "{self.setting_of(option)}", "INFERENCE_NUM_THREADS": 1}}
compiled = core.compile_model({self.reading}, "CPU", settings)""",
            "outputs = [y.copy() for y in compiled(inputs).to_tuple()]",
        )


@LIBRARIES.register("openvino_program")
class OpenVinoProgram(OpenVino):
    """OpenVINO's CPU plug-in on an exported PyTorch program (``.pt2``)."""

    name = "openvino_program"
    packages = ("openvino", "torch")
    suffix = ".pt2"
    imports = IMPORTS
    reading = "ov.convert_model(torch.export.load(path))"


@LIBRARIES.register("openvino_keras")
class OpenVinoKeras(Library):
    """Keras' OpenVINO backend. The model compiles at its first prediction."""

    name = "openvino_keras"
    packages = ("openvino", "keras")
    keras_backend = "openvino"
    codes: ClassVar = {
        "predict": BackendCode(call="outputs = keras.tree.flatten(model.predict_on_batch(GIVEN))")
    }
    zero_initializers = True
    unsupported = (r"with openvino backend", r"openvino backend (does|cannot)")

    def precision(self, option: str) -> str:
        """OpenVINO's own choice: bfloat16 where the processor has it. There is no switch."""
        return "bfloat16"
