"""ONNX files, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, extract_reason
from asterism.core.settings import machine
from asterism.models.foreign.onnx_files import read_renamed_onnx
from asterism.models.formats import FORMATS, Runtime, Tensors, note_device
from asterism.models.signatures.onnx import signature_of


@FORMATS.register(".onnx")
class OnnxFileRuntime(Runtime):
    """An ONNX model on the device of ``machine.yaml``, with one thread a call on the CPU."""

    def __init__(self, path: Path) -> None:
        file, device = read_renamed_onnx(path), machine.device()
        self.signature = signature_of(file, path)
        self._session = open_session(file.content, str(path), device)
        self.notes = note_device(device)
        first = self.signature.given[0].shape if self.signature.given else ()
        self.fixed_batch = first[0] if first else None
        self._inputs = {file.names.theirs(i.name): i.name for i in self._session.get_inputs()}
        self._outputs = [spec.name for spec in self.signature.outputs]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        given = {self._inputs[name]: array for name, array in inputs.items()}
        return dict(zip(self._outputs, self._session.run(None, given), strict=True))


def open_session(
    model: bytes | Path,
    named: str,
    device: str = "cpu",
    *,
    optimised: bool = True,
    optimised_file: Path | None = None,
) -> Any:
    """A session of ONNX Runtime, on the CPU with one thread: several calls run side by side.

    Sums come out the same on machines with any number of processors.

    Args:
        model: a serialised model, or its file.
        named: what messages call it.
        device: ``"cpu"``, or ``"cuda"`` with or without a number.
        optimised: whether ONNX Runtime fuses nodes, as it does in use.
        optimised_file: where the graph goes that ONNX Runtime runs; None for nowhere.

    Raises:
        UserError: ONNX Runtime cannot open it, or cannot use the device.
    """
    import onnxruntime

    providers: list[Any] = ["CPUExecutionProvider"]
    if device != "cpu":
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise UserError(
                f"{machine.how_to_set('device')} is {device!r}, but this ONNX Runtime has no CUDA: "
                "install onnxruntime-gpu in its place"
            )
        number = {"device_id": int(device.partition(":")[2] or 0)}
        providers.insert(0, ("CUDAExecutionProvider", number))

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if optimised_file is not None:
        options.optimized_model_filepath = str(optimised_file)
    try:
        return onnxruntime.InferenceSession(model, options, providers=providers)
    except Exception as error:  # ONNX Runtime's own errors share no base class
        why = extract_reason(str(error))
        raise UserError(f"ONNX Runtime cannot open {named}: {why}") from None
