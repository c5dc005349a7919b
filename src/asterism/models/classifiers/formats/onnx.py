"""ONNX files, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import onnxruntime

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.formats import FORMATS, Batch, Format
from asterism.models.classifiers.formats.layout import Layout, require_vector
from asterism.models.foreign.onnx_files import renamed_onnx

if TYPE_CHECKING:
    import onnx

_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxRuntime:
    """An ONNX model on the CPU, one thread a call."""

    def __init__(self, path: Path) -> None:
        file = renamed_onnx(path)
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
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or not outputs:
            raise UserError(f"{path} has {len(inputs)} inputs; a classifier has one")
        if inputs[0].type not in _FLOATS:
            raise UserError(f"{path} takes {inputs[0].type}; a classifier takes floats")
        self._dtype = _FLOATS[inputs[0].type]
        self._names = ([outputs[0].name], inputs[0].name)
        self._layout = Layout(inputs[0].shape, path)
        self.input_shape = self._layout.input_shape
        self.fixed_batch = self._layout.fixed_batch
        self.outputs = require_vector(outputs[0].shape, path)
        self.output_step = _output_step(file.model.graph, outputs[0].name)
        self.notes: tuple[str, ...] = ()

    def run(self, batch: Batch) -> Batch:
        """See :meth:`asterism.models.classifiers.formats.Runtime.run`."""
        wanted, given = self._names
        values = self._layout.adapt(batch).astype(self._dtype, copy=False)
        raw: Batch = self._session.run(wanted, {given: values})[0].astype(np.float32, copy=False)
        return raw


def _output_step(graph: onnx.GraphProto, output: str) -> float:
    """The scale of the last node where that makes floats of integers; 0 where it does not."""
    from onnx import numpy_helper

    last = next((node for node in graph.node if output in node.output), None)
    if last is None or last.op_type != "DequantizeLinear":
        return 0.0
    scales = [c for c in graph.initializer if c.name == last.input[1]]
    return max((float(numpy_helper.to_array(scale).max()) for scale in scales), default=0.0)


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
        """See :meth:`asterism.models.classifiers.formats.Format.open`."""
        return OnnxRuntime(path)
