"""Programs that ``torch.export.save`` wrote (``.pt2``), as modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.code import Arrays

#: Steps that only check what the types of values are.
_CHECKS = ("_assert_tensor_metadata",)


def module_of(path: Path) -> Any:
    """A program as a module, without checks of its inputs.

    The file is one of ours: see :func:`~asterism.models.foreign.torch_archive.rewritten`.
    """
    import torch

    return torch.export.load(path).module(check_guards=False)


def run_module(module: Any, inputs: list[NDArray[Any]]) -> Arrays:
    """Outputs of a module as arrays, in their order."""
    import torch

    with torch.no_grad():
        outputs = module(*(torch.from_numpy(np.array(i)) for i in inputs))
    leaves = torch.utils._pytree.tree_leaves(outputs)
    return [o.detach().numpy() for o in leaves if isinstance(o, torch.Tensor)]


def in_float64(module: Any) -> Any:
    """A program's module that computes in float64 what it computed in a smaller float.

    It is changed in place: its weights, and every type that a step names.
    """
    import torch

    narrow = (torch.float32, torch.float16, torch.bfloat16)

    def wide(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value in narrow else value

    for node in list(module.graph.nodes):
        if node.op != "call_function":
            continue
        if any(check in str(node.target) for check in _CHECKS):
            module.graph.erase_node(node)
            continue
        node.args = torch.utils._pytree.tree_map(wide, node.args)
        node.kwargs = torch.utils._pytree.tree_map(wide, node.kwargs)
    module.recompile()
    for tensor in constants_of(module):
        if tensor.dtype in narrow:
            tensor.data = tensor.data.double()
    return module


def constants_of(module: Any) -> list[Any]:
    """The tensors that a program's module holds: weights, buffers and other constants."""
    import torch

    found = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = module
            for name in node.target.split("."):
                value = getattr(value, name)
            if isinstance(value, torch.Tensor):
                found[id(value)] = value
    return list(found.values())
