"""ONNX files of any signature, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import renamed_onnx
from asterism.models.signatures.onnx import signature_of
from asterism.models.tensor_models.runtime import RUNTIMES, Tensors


@RUNTIMES.register("onnx")
class OnnxRuntime:
    """An ONNX model on the CPU, one thread a call."""

    suffixes: ClassVar[tuple[str, ...]] = (".onnx",)

    def __init__(self, path: Path) -> None:
        import onnxruntime

        file = renamed_onnx(path)
        self.signature = signature_of(file, path)
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # several calls run side by side instead
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                file.content, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's own errors share no base class
            raise UserError(f"ONNX Runtime cannot open {path}: {error}") from None
        first = self.signature.given[0].shape
        self.fixed_batch = first[0] if first else None
        self._inputs = {file.names.theirs(i.name): i.name for i in self._session.get_inputs()}
        self._outputs = [spec.name for spec in self.signature.outputs]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        given = {self._inputs[name]: array for name, array in inputs.items()}
        return dict(zip(self._outputs, self._session.run(None, given), strict=True))

    def reset(self) -> None:
        """See :meth:`.Runtime.reset`: ONNX Runtime keeps nothing between calls."""
