"""Which library a tensor belongs to."""

from __future__ import annotations

from asterism.deepimportance.tensor_ops import Tensor, TensorOps


def ops_of(tensor: Tensor) -> TensorOps:
    """The operations of a tensor's library."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        from asterism.deepimportance.torch_ops import TORCH

        return TORCH
    from asterism.deepimportance.tensorflow_ops import TENSORFLOW

    return TENSORFLOW
