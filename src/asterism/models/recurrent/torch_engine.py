"""Running a module or an exported program of PyTorch for the states of a recurrent layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx, nn

from asterism.core.messages.errors import UserError
from asterism.models.devices import require_device
from asterism.models.foreign.torch_archive import rewrite_program
from asterism.models.formats import ALONE, as_array, note_device
from asterism.models.recurrent.model import Floats, Inputs, SequenceForm
from asterism.models.signatures.torch import RECURRENT_OPERATORS, modules_of, operator_of
from asterism.models.torch_modules import as_tensor, place_of


class TorchEngine:
    """A module and the states of one of its recurrent layers, computed together.

    A layer is an LSTM, GRU or RNN, whose directions stand side by side in a state, or a cell that
    the module calls step by step.

    Args:
        module: takes sequences with the batch first, and gives scores of classes ``(N, K)``.
        layer: fully qualified name of the layer; None for the last one.
        example: some sequences, ``(N, T, F)`` or ``(N, T)``.

    Raises:
        UserError: there is no such layer.
    """

    threads = False

    def __init__(self, module: nn.Module, layer: str | None, example: NDArray[Any]) -> None:
        kinds = (nn.RNNBase, nn.RNNCellBase)
        known = [name for name, part in module.named_modules() if isinstance(part, kinds)]
        name, tokens = _chosen(known, layer), example.ndim == 2
        self.form = SequenceForm(
            layer=name,
            steps=None,
            features=None if tokens else int(np.prod(example.shape[2:])),
            batch=None,
            numbers=str(example.dtype) if tokens else None,
        )
        self._module, self._part = module, module.get_submodule(name)
        self._place = place_of(module)
        self.notes = note_device(self._place[0])

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        seen: list[torch.Tensor] = []

        def keep(_: nn.Module, __: Any, found: Any) -> None:
            seen.append(found[0] if isinstance(found, tuple) else found)

        with ALONE, torch.no_grad():
            hook = self._part.register_forward_hook(keep)
            try:
                outputs = self._module(as_tensor(sequences, *self._place))
            finally:
                hook.remove()
        if isinstance(self._part, nn.RNNCellBase):
            states = torch.stack(seen, dim=1)
        else:
            states = seen[-1] if self._part.batch_first else seen[-1].transpose(0, 1)
        return as_array(outputs).astype(np.float32), as_array(states).astype(np.float32)


class ProgramEngine:
    """An exported program and the states of one of its recurrent layers, computed together.

    Args:
        module: the program's graph, which takes sequences with the batch first, and gives scores of
            classes ``(N, K)``.
        layer: fully qualified name of the layer in the module that was exported, or the name of its
            node where the program tells none; None for the last one.
        named: the name to report for a node's.

    Raises:
        UserError: there is no such layer.
    """

    threads = False

    def __init__(
        self, module: fx.GraphModule, layer: str | None, named: Callable[[str], str] = str
    ) -> None:
        nodes = list(module.graph.nodes)
        layers = {
            (modules_of(node) or [named(node.name)])[-1]: node
            for node in nodes
            if operator_of(node.target) in RECURRENT_OPERATORS
        }
        name = _chosen(list(layers), layer)
        given = next(node for node in nodes if node.op == "placeholder").meta["val"]
        batch, steps, *features = (size if isinstance(size, int) else None for size in given.shape)
        self.form = SequenceForm(
            layer=name,
            steps=steps,
            features=features[0] if features else None,
            batch=batch,
            numbers=None if features else str(given.dtype).removeprefix("torch."),
        )
        self._graph, self._node = module, layers[name]
        self._place = given.device, given.dtype
        self.notes = note_device(given.device)

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        run = _RunWithStates(self._graph, self._node)
        with ALONE, torch.no_grad():
            found = run.run(as_tensor(sequences, *self._place))
        outputs = found[0] if isinstance(found, tuple | list) else found
        batch_first = self._node.args[-1]  # the last argument of PyTorch's recurrent operators
        states = run.states if batch_first else run.states.transpose(0, 1)
        return as_array(outputs).astype(np.float32), as_array(states).astype(np.float32)


class _RunWithStates(fx.Interpreter):
    """Runs a graph, and keeps the states that a recurrent operator gives."""

    states: torch.Tensor

    def __init__(self, module: fx.GraphModule, recurrent: fx.Node) -> None:
        super().__init__(module)
        self._recurrent = recurrent

    def run_node(self, node: fx.Node) -> Any:
        """See :class:`torch.fx.Interpreter`."""
        found = super().run_node(node)
        if node is self._recurrent:
            self.states = found[0]
        return found


def open_torch(path: Path, layer: str | None) -> ProgramEngine:
    """The engine for a ``.pt2`` file, on the device of ``machine.yaml``.

    Raises:
        UserError: see :class:`ProgramEngine` and :func:`.rewrite_program`.
    """
    program = rewrite_program(path)
    return ProgramEngine(program.module(require_device()), layer, program.names.theirs)


def _chosen(known: Sequence[str], layer: str | None) -> str:
    """The layer, or the last one that is known.

    Raises:
        UserError: there is no such layer.
    """
    if not known or (layer is not None and layer not in known):
        told = f"no recurrent layer {layer!r}" if layer else "no recurrent layer"
        raise UserError(f"the network has {told} (it has: {', '.join(known) or 'none'})")
    return layer or known[-1]
