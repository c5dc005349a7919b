"""Models that ``torch.export.save`` wrote (``.pt2``); pickled ones (``.pt``) are not read."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_archive import rewrite_program
from asterism.models.formats import FORMATS, Runtime, Tensors, as_array, note_device
from asterism.models.signatures.signature import Signature
from asterism.models.signatures.torch import signature_of_graph

if TYPE_CHECKING:
    import torch

#: What PyTorch notes of the run that exported a program: where the source lies, and addresses.
_OF_THIS_RUN = ("stack_trace", "from_node")


class TorchRuntime(Runtime):
    """A PyTorch module without states.

    PyTorch's kernels give other last bits for other batch sizes, as TensorFlow's do.

    Args:
        module: takes tensors in order, and gives a tensor or a sequence of them.
        signature: of its inputs and outputs, by names of any choice.
        device: where the module lies, ``"cpu"`` or ``"cuda:0"``.
        named: the user's name for one in the module.

    Attributes:
        plain: the module.
        named: see above.
    """

    varies_in = "PyTorch"

    def __init__(
        self,
        module: Any,
        signature: Signature,
        device: str = "cpu",
        named: Callable[[str], str] = str,
    ) -> None:
        self.plain, self.signature, self._device, self.named = module, signature, device, named
        self.notes = note_device(device)
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
        answers = [as_array(tensor) for tensor in tensors if isinstance(tensor, torch.Tensor)]
        names = (spec.name for spec in self.signature.outputs)
        return dict(zip(names, answers, strict=True))

    def running(self, module: Any) -> TorchRuntime:
        """Another module in this one's place, which takes and gives the same."""
        return TorchRuntime(module, self.signature, self._device, self.named)

    def program(self, inputs: Mapping[str, NDArray[Any]]) -> torch.export.ExportedProgram:
        """The module as a program whose inputs have the user's names, where Python allows these.

        It gives a tensor, or several.

        Args:
            inputs: at least two, by the signature's names.

        Raises:
            UserError: PyTorch cannot export it.
        """
        import torch
        from torch import fx

        graph = fx.Graph()
        given: Any = graph.graph_copy(self.plain.graph, {})
        one = isinstance(given, tuple | list) and len(given) == 1
        graph.output(given[0] if one else given)
        for node in graph.find_nodes(op="placeholder"):
            name = self.named(node.name)
            if name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
                node._rename(name)
            node.target = node.name
        module = fx.GraphModule(self.plain, graph).to("cpu")
        rows = [torch.from_numpy(inputs[spec.name].copy()) for spec in self.signature.inputs]
        sizes = (
            [n for n, size in enumerate(s.shape) if size is None] for s in self.signature.inputs
        )
        free = tuple(dict.fromkeys(axes, torch.export.Dim.AUTO) for axes in sizes)
        try:
            return torch.export.export(module, tuple(rows), dynamic_shapes=free)
        except Exception as error:  # whatever tracing a foreign graph raises
            raise UserError(f"PyTorch cannot export the repaired program: {error}") from error


def save_program(program: torch.export.ExportedProgram, path: Path) -> None:
    """Write a program, in the same bytes for the same one."""
    import torch

    for node in program.graph.nodes:
        for fact in _OF_THIS_RUN:
            node.meta.pop(fact, None)
    torch.export.save(program, path)


def open_program(path: Path) -> TorchRuntime:
    """An exported PyTorch program, on the device of ``machine.yaml``.

    Raises:
        UserError: PyTorch has no such device, or see
            :func:`~asterism.models.foreign.torch_archive.rewrite_program`.
    """
    from asterism.models.devices import require_device

    program, device = rewrite_program(path), require_device()
    module, named = program.module(device), program.names.theirs
    return TorchRuntime(module, signature_of_graph(module.graph, named), device, named)


FORMATS.register(".pt2")(open_program)
