"""OpenVINO through Keras' backend (inference only)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@LIBRARIES.register("openvino_keras")
class OpenVinoKeras(Library):
    """Keras' OpenVINO backend."""

    name = "openvino_keras"
    packages = ("openvino", "keras")
    keras_backend = "openvino"
    options = ("predict",)
    zero_initializers = True
    unsupported = (r"with openvino backend", r"openvino backend (does|cannot)")

    def precision(self, option: str) -> str:
        """OpenVINO's own choice: bfloat16 where the processor has it. There is no switch."""
        return "bfloat16"

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return """
def run(model, inputs):
    outputs = model.predict_on_batch(inputs if len(inputs) > 1 else inputs[0])
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The Keras model, which compiles at its first prediction."""
        return model_under_test.keras(zero_initializers=self.zero_initializers)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        given = list(inputs)
        return numpy_list(compiled.predict_on_batch(given if len(given) > 1 else given[0]))
