"""Models that ``torch.export.save`` wrote (``.pt2``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.models.foreign.torch_archive import rewritten
from asterism.models.runtimes.runtime import FORMATS, Format, Runtime, Tensors
from asterism.models.signatures.signature import Signature
from asterism.models.signatures.torch import signature_of_graph


class TorchRuntime(Runtime):
    """A PyTorch module without states.

    PyTorch's kernels give other last bits for other batch sizes, as TensorFlow's do.

    Args:
        module: takes tensors in order, and gives a tensor or a sequence of them.
        signature: of its inputs and outputs, by names of any choice.
        device: where the module lies, ``"cpu"`` or ``"cuda:0"``.

    Attributes:
        plain: the module.
    """

    varies_in = "PyTorch"

    def __init__(self, module: Any, signature: Signature, device: str = "cpu") -> None:
        self.plain, self.signature, self._device = module, signature, device
        self.notes = () if device == "cpu" else (f"runs on {device}",)
        self.fixed_batch = next((spec.shape[0] for spec in signature.inputs if spec.shape), None)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        import torch

        # Copies, even of what NumPy calls contiguous as it stands: an axis of length 1 may have any
        # stride there, and PyTorch takes strides for the order of channels.
        arrays = [inputs[spec.name].copy(order="C") for spec in self.signature.inputs]
        given = [torch.from_numpy(array).to(self._device) for array in arrays]
        with torch.inference_mode():
            found = self.plain(*given)
        tensors = [found] if isinstance(found, torch.Tensor) else found
        answers = [
            (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).cpu().numpy()
            for tensor in tensors
            if isinstance(tensor, torch.Tensor)
        ]
        names = (spec.name for spec in self.signature.outputs)
        return dict(zip(names, answers, strict=True))

    def running(self, module: Any) -> TorchRuntime:
        """Another module in this one's place, which takes and gives the same."""
        return TorchRuntime(module, self.signature, self._device)


def require_device() -> str:
    """The device of ``machine.yaml``, where PyTorch has it.

    Raises:
        UserError: it has not.
    """
    import torch

    device, seen = machine.device(), torch.cuda.device_count()
    if device != "cpu" and (torch.device(device).index or 0) >= seen:
        named = machine.spelled("device")
        raise UserError(f"{named} is {device!r}, but PyTorch sees {seen} GPUs here")
    return device


def opened_program(path: Path) -> TorchRuntime:
    """An exported PyTorch program, on the device of ``machine.yaml``.

    Raises:
        UserError: PyTorch has no such device, or see
            :func:`~asterism.models.foreign.torch_archive.rewritten`.
    """
    program, device = rewritten(path), require_device()
    module = program.module(device)
    return TorchRuntime(module, signature_of_graph(module.graph, program.names.theirs), device)


@FORMATS.register("torch")
class TorchExport(Format):
    """An archive of ``torch.export.save``; pickled models (``.pt``, ``.pth``) are not read."""

    suffixes: ClassVar[tuple[str, ...]] = (".pt2",)

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """A zip archive."""
        return path.suffix == ".pt2" and head[:4] == b"PK\x03\x04"

    @staticmethod
    def open(path: Path) -> TorchRuntime:
        """See :meth:`.Format.open`."""
        return opened_program(path)
