"""Compressed graphs in which chosen nodes are computed in float, as the original computes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.localisation.graph import OnnxGraph, assemble_model, rename_tensors
from asterism.localisation.matching import tensors_by_counterpart
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import FLOATS
from asterism.models.onnx_graphs import node_inputs, opset_versions

#: What the names of the original's parts begin with in another graph.
_ORIGINAL = "original/"
_COMPRESSED = "compressed/"
#: ONNX' numbers of the element types that casts lead to.
_ELEMENTS = {"float": 1, "float16": 10, "double": 11}


class _Casts:
    """Casts between widths of floats, each made once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self._made: dict[tuple[str, str], str] = {}

    def to(self, tensor: str, have: str, want: str, named: str = "") -> str:
        """The tensor with elements of a type; itself where it has that type."""
        if have == want or have not in FLOATS or want not in FLOATS:
            return tensor
        key = (tensor, want)
        if key not in self._made:
            name = named or f"{tensor}/{want}"
            self._made[key] = name
            node = helper.make_node("Cast", [tensor], [name], name=f"{name}/cast")
            node.attribute.append(helper.make_attribute("to", _ELEMENTS[want]))
            self.nodes.append(node)
        return self._made[key]


def hybrid_model(pair: MatchedPair, floats: Collection[int]) -> Any:
    """The compressed model with some nodes in float.

    Args:
        pair: the matched pair.
        floats: indices into ``pair.nodes``.

    Returns:
        An ``onnx.ModelProto``; with no node in float, the compressed model in the QDQ form.
    """
    original, compressed = pair.opened.original, pair.opened.compressed
    casts = _Casts()
    exchanged = [pair.nodes[index] for index in sorted(floats)]
    made = {tensor: node for node in exchanged for tensor in node.outputs}
    names: dict[str, str] = {}  # of the original's exchanged tensors in the new graph
    instead: dict[str, str] = {}  # what the compressed model's other nodes take now
    for tensor, node in made.items():
        part = pair.tensors[tensor]
        have = pair.opened.original_types[tensor]
        want = pair.opened.compressed_types[part.final[0]]
        given = next((n for n in (*part.final, part.raw) if n in compressed.outputs), "")
        is_cast = have != want and have in FLOATS
        if not node.members or tensor in original.inputs:
            names[tensor] = part.raw
        else:
            names[tensor] = _ORIGINAL + tensor if is_cast or not given else given
        value = casts.to(names[tensor], have, want, given)
        instead |= {name: value for name in (part.raw, *part.final) if name != value}

    def name_here(tensor: str) -> str:
        if tensor in names:
            return names[tensor]
        if tensor in pair.tensors:
            final = pair.tensors[tensor].final[0]
            have = pair.opened.compressed_types[final]
            return casts.to(final, have, pair.opened.original_types[tensor])
        return _ORIGINAL + tensor

    members = sorted({index for node in exchanged for index in node.members})
    parts = _with_constants(original, members)
    moved = [_moved(original.nodes[i], name_here, names) for i in parts]
    replaced = {name for name in instead if name in compressed.outputs}
    taken_over = set(names.values()) | set(instead.values())
    biases = _Biases(pair)
    kept = [
        rename_tensors(node, instead | biases.of(index, instead))
        if instead.keys() & set(node_inputs(node))
        else node
        for index, node in enumerate(compressed.nodes)
        if not taken_over & set(node.output) - set(compressed.inputs)
    ]
    for name in sorted(replaced):  # a second name of an exchanged tensor that the graph gives
        kept = [node for node in kept if name not in node.output]
        kept.append(helper.make_node("Identity", [instead[name]], [name]))
    constants = dict(compressed.constants)
    constants |= {_ORIGINAL + name: tensor for name, tensor in original.constants.items()}
    constants |= biases.constants
    imports = opset_versions(original.model) | opset_versions(compressed.model)
    nodes = [*kept, *moved, *casts.nodes]
    return assemble_model(
        compressed.model, nodes, constants, list(compressed.model.graph.output), imports
    )


class _Biases:
    """Float biases for integer nodes that take an exchanged tensor.

    The scale of a 32-bit bias is that of the node's input times that of its weights, so without
    the former it has none.
    """

    def __init__(self, pair: MatchedPair) -> None:
        self._pair = pair
        self.constants: dict[str, Any] = {}

    def of(self, index: int, instead: Mapping[str, str]) -> dict[str, str]:
        """The name of a node's quantised bias, and what takes its place."""
        graph = self._pair.opened.compressed
        given = graph.nodes[index].input
        value = self._pair.constant(index, 2)
        if value is None or len(given) < 3 or given[0] not in instead:
            return {}
        maker = graph.maker_of(given[2])
        if maker is None or maker.op_type != "DequantizeLinear":
            return {}
        name = _ORIGINAL + given[2]
        self.constants[name] = numpy_helper.from_array(value.astype(np.float32), name)
        return {given[2]: name}


def _with_constants(graph: OnnxGraph, members: Iterable[int]) -> list[int]:
    """Nodes, and those that compute constants for them."""
    found: set[int] = set()
    waiting = list(members)
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            taken = (n for n in node_inputs(graph.nodes[index]) if n not in graph.varying)
            waiting.extend(graph.maker[name] for name in taken if name in graph.maker)
    return sorted(found)


def _moved(node: Any, name_here: Any, names: dict[str, str]) -> Any:
    """A node of the original under the names of the new graph."""
    copy = rename_tensors(node, {name: name_here(name) for name in node_inputs(node)})
    copy.name = _ORIGINAL + node.name if node.name else ""
    copy.output[:] = [names.get(n, _ORIGINAL + n) if n else "" for n in node.output]
    return copy


def original_with_bodies(pair: MatchedPair, tensors: Collection[str]) -> tuple[Any, dict[str, str]]:
    """The original, with a copy of each quantised node that takes the original's tensors.

    Args:
        pair: the matched pair.
        tensors: the tensors of the original, that are wanted.

    Returns:
        The model, which gives these tensors and the quantised nodes' versions of them, where there
        are some, beside the original's outputs; and the names of the versions by those of the
        tensors.
    """
    original, compressed = pair.opened.original, pair.opened.compressed
    owner = tensors_by_counterpart(pair.tensors)
    casts = _Casts()
    nodes = list(original.nodes)
    results: dict[str, str] = {}
    for number, node in enumerate(pair.nodes):
        prefix = f"{_COMPRESSED}{number}/"
        inner = {name for i in node.body for name in compressed.nodes[i].output}
        outputs = {n for t in node.outputs for n in (pair.tensors[t].raw, *pair.tensors[t].final)}
        for index in node.body:
            part = compressed.nodes[index]
            taken = {}
            for name in node_inputs(part):
                tensor = owner.get(name)
                is_inner = name in inner and (tensor is None or name in outputs)
                if tensor is None and not is_inner:
                    taken[name] = _COMPRESSED + name
                elif is_inner:
                    taken[name] = prefix + name
                else:
                    assert tensor is not None
                    types = pair.opened.original_types[tensor], pair.opened.compressed_types[name]
                    taken[name] = casts.to(tensor, *types)
            copy = rename_tensors(part, taken)
            copy.name = prefix + compressed.name_of(index)
            copy.output[:] = [prefix + n if n else "" for n in part.output]
            nodes.append(copy)
        for tensor in (one for one in node.outputs if one in tensors):
            results[tensor] = prefix + pair.tensors[tensor].final[0]
    constants = dict(original.constants)
    constants |= {_COMPRESSED + name: value for name, value in compressed.constants.items()}
    known = {name for node in nodes for name in node.output}
    wanted = sorted({*tensors, *original.outputs} & known) + sorted(set(results.values()) & known)
    outputs_wanted = [helper.ValueInfoProto(name=name) for name in wanted]
    imports = opset_versions(original.model) | opset_versions(compressed.model)
    model = assemble_model(
        original.model, [*nodes, *casts.nodes], constants, outputs_wanted, imports
    )
    return model, {tensor: name for tensor, name in results.items() if name in known}


def serialise_checked(model: Any, name: str) -> bytes:
    """A model as the bytes of its file, after ONNX' checker has accepted it.

    Raises:
        UserError: the checker rejects it.
    """
    content = model.SerializeToString(deterministic=True)
    try:
        onnx.checker.check_model(content)
    except onnx.checker.ValidationError as error:
        raise UserError(f"{name} is no valid ONNX model: {error}") from None
    return bytes(content)
