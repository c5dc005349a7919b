"""The device on which PyTorch computes."""

from __future__ import annotations

import torch

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine


def require_device() -> str:
    """The device of ``machine.yaml``, where PyTorch has it.

    Raises:
        UserError: PyTorch has no such device.
    """
    device, seen = machine.device(), torch.cuda.device_count()
    if device != "cpu" and (torch.device(device).index or 0) >= seen:
        named = machine.how_to_set("device")
        raise UserError(f"{named} is {device!r}, but PyTorch sees {seen} GPUs here")
    return device
