"""The signature of a program that PyTorch exported, and what operator makes an output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from asterism.models.foreign.torch_archive import rewrite_program
from asterism.models.signatures.signature import Signature, TensorSpec

#: Operators that are whole recurrent layers.
RECURRENT_OPERATORS = ("lstm", "gru", "rnn_tanh", "rnn_relu")

#: Operators that give the same numbers in another form.
_FORMS = {
    *("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "to", "_to_copy", "dropout"),
    *("expand", "flatten", "permute", "reshape", "slice", "squeeze", "t", "transpose"),
    *("unsqueeze", "view", "unsafe_view", "_unsafe_view", "dequantize"),
    *("dequantize_per_tensor", "quantize_per_tensor"),
    *("dequantize_per_channel", "quantize_per_channel"),
}

#: Names that other formats have for the same operators.
_MAKERS = {
    **dict.fromkeys(("addmm", "mm", "bmm"), "gemm"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), "conv"),
    "native_layer_norm": "layernormalization",
    "layer_norm": "layernormalization",
    "log_softmax": "logsoftmax",
}


def torch_signature(path: Path) -> Signature:
    """What an exported program takes and gives.

    Raises:
        UserError: see :func:`~asterism.models.foreign.torch_archive.rewrite_program`.
    """
    program = rewrite_program(path)
    return signature_of_graph(program.module().graph, program.names.theirs)


def signature_of_graph(graph: Any, named: Callable[[str], str] = str) -> Signature:
    """What the graph of an exported program takes and gives.

    Args:
        graph: of ``torch.fx``.
        named: the name to report for one in the graph.
    """
    nodes = list(graph.nodes)
    (ends,) = (node.args[0] for node in nodes if node.op == "output")
    ends = list(ends) if isinstance(ends, tuple | list) else [ends]
    calls = [node for node in nodes if node.op == "call_function"]
    return Signature(
        format="torch",
        inputs=_specs((node for node in nodes if node.op == "placeholder"), named),
        outputs=_specs(ends, named),
        operators=len(calls),
        quantised=sum("quantize" in operator_of(node.target) for node in calls),
        recurrent=any(operator_of(node.target) in RECURRENT_OPERATORS for node in calls),
    )


def operator_of(target: Any) -> str:
    """The name of an operator, without its overload: ``linear`` of ``aten.linear.default``."""
    packet = getattr(target, "overloadpacket", target)
    return str(getattr(packet, "__name__", ""))


def modules_of(node: Any) -> list[str]:
    """The fully qualified names of the modules that a node is part of, the outermost first."""
    return [str(name) for name, _ in node.meta.get("nn_module_stack", {}).values() if name]


def is_form(operator: str) -> bool:
    """Whether an operator gives the same numbers in another form."""
    return operator in _FORMS


def operator_family(operator: str) -> str:
    """What other formats call an operator that makes an output: ``softmax`` of ``_softmax``."""
    plain = operator.strip("_")
    return _MAKERS.get(plain, plain)


def _specs(nodes: Iterable[Any], named: Callable[[str], str]) -> tuple[TensorSpec, ...]:
    """Those of nodes that are tensors; a name that was there before gets a number."""
    specs: dict[str, TensorSpec] = {}
    for number, node in enumerate(nodes):
        value: Any = getattr(node, "meta", {}).get("val")
        if hasattr(value, "shape"):
            name = named(node.name)
            name = f"{name}_{number}" if name in specs else name
            specs[name] = TensorSpec(
                name,
                str(value.dtype).removeprefix("torch."),
                tuple(size if isinstance(size, int) else None for size in value.shape),
                made_by=_made_by(node),
                rows=_rows(node),
                calibrated=_calibrated(node),
                dims=tuple("" if isinstance(size, int) else str(size) for size in value.shape),
            )
    return tuple(specs.values())


def _made_by(node: Any) -> str:
    """The operator that computes a node, past those that only give its numbers another form."""
    while node.op == "call_function" and is_form(operator_of(node.target)) and node.args:
        node = node.args[0]
    return operator_family(operator_of(node.target)) if node.op == "call_function" else ""


def _rows(node: Any) -> int:
    """The rows of the table whose rows an input chooses; 0 where it does not."""
    for user in getattr(node, "users", ()):
        if operator_of(user.target) == "embedding" and user.args[1] is node:
            table = user.args[0].meta.get("val")
            return int(table.shape[0]) if table is not None else 0
    return 0


def _calibrated(node: Any) -> tuple[float, float] | None:
    """The range of the quantiser that takes an input first; None where none does."""
    for user in getattr(node, "users", ()):
        if operator_of(user.target) == "quantize_per_tensor" and user.args[0] is node:
            scale, zero, low, high = user.args[1:5]
            if all(isinstance(number, int | float) for number in (scale, zero, low, high)):
                return (low - zero) * scale, (high - zero) * scale
    return None


def state_of(module: Any) -> dict[str, Any]:
    """What a module consists of; of a graph what its nodes use, which may leave old weights behind.

    Args:
        module: of PyTorch.
    """
    state: dict[str, Any] = module.state_dict()
    if not hasattr(module, "graph"):
        return state
    used = {node.target for node in module.graph.nodes if node.op == "get_attr"}
    return {name: value for name, value in state.items() if name in used}


def collect_tensors(state: Mapping[str, Any]) -> list[Any]:
    """All tensors that a module's state consists of, those within packed or wrapped ones too."""
    from torch.utils import _pytree as pytree

    return [part for leaf in pytree.tree_leaves(dict(state)) for part in _parts(leaf)]


def _parts(value: Any) -> list[Any]:
    if hasattr(value, "__tensor_flatten__"):
        names, _ = value.__tensor_flatten__()
        return [part for name in names for part in _parts(getattr(value, name))]
    return [value] if hasattr(value, "element_size") else []
