"""Models that ``torch.export.save`` wrote (``.pt2``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.models.foreign.torch_archive import rewritten
from asterism.models.runtimes.runtime import FORMATS, Format, Runtime, Tensors
from asterism.models.signatures.signature import Signature
from asterism.models.signatures.torch import signature_of_graph


class TorchRuntime(Runtime):
    """A PyTorch module without states on the CPU.

    PyTorch's kernels give other last bits for other batch sizes, as TensorFlow's do.

    Args:
        module: takes tensors in order, and gives a tensor or a sequence of them.
        signature: of its inputs and outputs, by names of any choice.
    """

    varies_in = "PyTorch"

    def __init__(self, module: Any, signature: Signature) -> None:
        self._module, self.signature = module, signature
        self.fixed_batch = next((spec.shape[0] for spec in signature.inputs if spec.shape), None)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        import torch

        # Copies, even of what NumPy calls contiguous as it stands: an axis of length 1 may have any
        # stride there, and PyTorch takes strides for the order of channels.
        given = [
            torch.from_numpy(inputs[spec.name].copy(order="C")) for spec in self.signature.inputs
        ]
        with torch.inference_mode():
            found = self._module(*given)
        tensors = [found] if isinstance(found, torch.Tensor) else found
        arrays = [
            (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
            for tensor in tensors
            if isinstance(tensor, torch.Tensor)
        ]
        names = (spec.name for spec in self.signature.outputs)
        return dict(zip(names, arrays, strict=True))


def opened_program(path: Path) -> TorchRuntime:
    """An exported PyTorch program.

    Raises:
        UserError: see :func:`~asterism.models.foreign.torch_archive.rewritten`.
    """
    program = rewritten(path)
    module = program.module()
    return TorchRuntime(module, signature_of_graph(module.graph, program.names.theirs))


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
