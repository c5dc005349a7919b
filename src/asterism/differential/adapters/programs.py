"""Modules of programs that ``torch.export.save`` wrote (``.pt2``), in float64."""

from __future__ import annotations

from typing import Any

#: Steps that only check what the types of values are.
_CHECKS = ("_assert_tensor_metadata",)


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
