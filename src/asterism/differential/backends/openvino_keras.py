"""OpenVINO through Keras' backend (inference only)."""

from __future__ import annotations

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, Library


@LIBRARIES.register("openvino_keras")
class OpenVinoKeras(Library):
    """Keras' OpenVINO backend. The model compiles at its first prediction."""

    name = "openvino_keras"
    packages = ("openvino", "keras")
    keras_backend = "openvino"
    options = ("predict",)
    zero_initializers = True
    unsupported = (r"with openvino backend", r"openvino backend (does|cannot)")

    def precision(self, option: str) -> str:
        """OpenVINO's own choice: bfloat16 where the processor has it. There is no switch."""
        return "bfloat16"

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`."""
        return BackendCode(call="outputs = keras.tree.flatten(model.predict_on_batch(GIVEN))")
