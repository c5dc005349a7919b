"""Keras' own ONNX export, on its PyTorch backend (where it calls PyTorch's exporter)."""

from __future__ import annotations

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import CONVERTERS, Converter


@CONVERTERS.register("keras_onnx")
class KerasOnnx(Converter):
    """``model.export(format="onnx")``."""

    name = "keras_onnx"
    packages = ("keras", "torch", "onnx")
    keras_backend = "torch"
    suffix = ".onnx"
    host = "pytorch"
    opsets = (15, 17, 18)
    unsupported = (r"Exporting the operator .* is not supported", r"UnsupportedOperatorError")

    def code(self, opset: int | None = None) -> BackendCode:
        """See :class:`Converter`; the exporter needs the model to have been called."""
        more = "" if opset is None else f", opset_version={opset}"
        return BackendCode(
            (),
            f"""examples = [np.zeros((1, *x.shape[1:]), x.dtype) for x in model.inputs]
model(examples if len(examples) > 1 else examples[0], training=False)
model.export(path, format="onnx", verbose=False{more})""",
        )
