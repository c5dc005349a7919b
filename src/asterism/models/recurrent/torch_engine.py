"""Running a module of PyTorch that lives in the caller's process, for the states of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from asterism.core.messages.errors import UserError
from asterism.models.formats import ALONE, as_array
from asterism.models.recurrent.model import Floats, Inputs, SequenceForm


class TorchEngine:
    """A module and the states of one of its recurrent layers, computed together.

    Args:
        module: takes sequences with the batch first, and gives scores of classes ``(N, K)``.
        layer: fully qualified name of an LSTM, GRU or RNN; None for the last one.
        example: some sequences, ``(N, T, F)`` or ``(N, T)``.

    Raises:
        UserError: there is no such layer.
    """

    threads = False

    def __init__(self, module: nn.Module, layer: str | None, example: NDArray[Any]) -> None:
        known = [name for name, part in module.named_modules() if isinstance(part, nn.RNNBase)]
        if not known or (layer is not None and layer not in known):
            told = f"no recurrent layer {layer!r}" if layer else "no recurrent layer"
            raise UserError(f"the module has {told} (it has: {', '.join(known) or 'none'})")
        name, tokens = layer or known[-1], example.ndim == 2
        self.form = SequenceForm(
            layer=name,
            steps=None,
            features=None if tokens else int(np.prod(example.shape[2:])),
            batch=None,
            numbers=str(example.dtype) if tokens else None,
        )
        self._module, self._part = module, module.get_submodule(name)
        self._device = next(module.parameters()).device

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        seen: list[torch.Tensor] = []

        def keep(_: nn.Module, __: Any, found: Any) -> None:
            seen.append(found[0])

        with ALONE, torch.no_grad():
            hook = self._part.register_forward_hook(keep)
            try:
                outputs = self._module(torch.from_numpy(sequences.copy()).to(self._device))
            finally:
                hook.remove()
        states = seen[-1] if self._part.batch_first else seen[-1].transpose(0, 1)
        return as_array(outputs).astype(np.float32), as_array(states).astype(np.float32)
