"""ONNX files, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import renamed_onnx
from asterism.models.runtimes.runtime import FORMATS, Format, Runtime, Tensors
from asterism.models.signatures.onnx import signature_of


class OnnxRuntime(Runtime):
    """An ONNX model on the CPU, one thread a call."""

    def __init__(self, path: Path) -> None:
        file = renamed_onnx(path)
        self.signature = signature_of(file, path)
        self._session = open_session(file.content, str(path))
        first = self.signature.given[0].shape if self.signature.given else ()
        self.fixed_batch = first[0] if first else None
        self._inputs = {file.names.theirs(i.name): i.name for i in self._session.get_inputs()}
        self._outputs = [spec.name for spec in self.signature.outputs]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        given = {self._inputs[name]: array for name, array in inputs.items()}
        return dict(zip(self._outputs, self._session.run(None, given), strict=True))


def open_session(content: bytes, named: str) -> Any:
    """A session of ONNX Runtime on the CPU, with one thread: several calls run side by side.

    Sums come out the same on machines with any number of processors.

    Args:
        content: a serialised model with names of ours.
        named: what messages call it.

    Raises:
        UserError: ONNX Runtime cannot open it.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own errors share no base class
        raise UserError(f"ONNX Runtime cannot open {named}: {error}") from None


@FORMATS.register("onnx")
class Onnx(Format):
    """ONNX: a protocol buffer, which has no signature of its own."""

    suffixes: ClassVar[tuple[str, ...]] = (".onnx",)
    has_signature: ClassVar[bool] = False

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """The first field of an ONNX model is its IR version, field 1, or its graph."""
        return path.suffix == ".onnx" and head[:1] in (b"\x08", b"\x12", b"\x3a")

    @staticmethod
    def open(path: Path) -> OnnxRuntime:
        """See :meth:`.Format.open`."""
        return OnnxRuntime(path)
