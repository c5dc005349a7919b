"""Keras' own ONNX export, on its PyTorch backend (where it calls PyTorch's exporter)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.libraries.adapters.library import CONVERTERS, Converter
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@CONVERTERS.register("keras_onnx")
class KerasOnnx(Converter):
    """``model.export(format="onnx")``."""

    name = "keras_onnx"
    packages = ("keras", "torch", "onnx")
    keras_backend = "torch"
    suffix = ".onnx"
    host = "pytorch"
    # Also because a failed export was seen to change what PyTorch computed afterwards.
    own_worker = True
    opsets = (15, 17, 18)
    unsupported = (r"Exporting the operator .* is not supported", r"UnsupportedOperatorError")

    def script(self) -> str:
        """Source of a function that converts a Keras model."""
        return """
def convert(model, path):
    import torch

    examples = [
        torch.zeros((1, *i.shape[1:]), dtype=getattr(torch, i.dtype)) for i in model.inputs
    ]
    model(examples if len(examples) > 1 else examples[0], training=False)
    model.export(path, format="onnx", verbose=False)
"""

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Export after one call, which the exporter needs."""
        import torch

        model = model_under_test.keras(zero_initializers=True)
        examples = [torch.zeros((1, *i.shape[1:]), dtype=_torch(i.dtype)) for i in model.inputs]
        model(examples if len(examples) > 1 else examples[0], training=False)
        model.export(
            str(target), format="onnx", verbose=False, opset_version=model_under_test.opset
        )


def _torch(dtype: str) -> Any:
    import torch

    return getattr(torch, dtype)
