"""Which tensor of a compressed graph stands for which tensor of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from asterism.localisation.graph import Array, OnnxGraph
from asterism.localisation.reading import OpenedPair

#: What a quantiser may put into the lower bound of an output's range, and leave out of the graph.
_CLIPS = ("Relu", "Clip")
#: What conversions from LiteRT add to the name of a tensor before its quantiser.
_BEFORE_QUANTISER = "_prequant"
#: Operators whose second input decides the rank of what they make.
_SHAPED = ("Reshape", "Squeeze", "Unsqueeze")
#: Operators between a stored constant and the node that takes it.
MOVES_OF_CONSTANTS = ("Cast", "Identity", "Transpose", "Reshape")


@dataclass(frozen=True)
class Counterpart:
    """The tensor of a compressed graph that corresponds to one of the original.

    Attributes:
        raw: its name there as it is computed.
        final: its names as other nodes take it: behind the quantiser that all of them share, which
            is the one of the node that makes it; ``(raw,)`` where there is none.
        quantiser: indices of that quantiser's nodes.
    """

    raw: str
    final: tuple[str, ...]
    quantiser: tuple[int, ...]


def tensors_by_counterpart(tensors: Mapping[str, Counterpart]) -> dict[str, str]:
    """The original's tensors, by the names of their counterparts."""
    return {
        name: tensor
        for tensor, counterpart in tensors.items()
        for name in (counterpart.raw, *counterpart.final)
    }


def match_tensors(pair: OpenedPair) -> dict[str, Counterpart]:
    """Counterparts of the original's tensors, by name; tensors without one are left out.

    Tensors are matched by name, or by the name of the integers that a tensor is quantised to, as
    conversions from LiteRT call them. Then by name without leading parts of a path (exporters put
    the enclosing module there); inputs and outputs, where their names differ, in their order. Where
    a node of the original has only matched inputs and none of its outputs is known, its counterpart
    is the one node of the same operator that takes their counterparts in the same places.
    """
    original, compressed = pair.original, pair.compressed
    by_name = set(compressed.inputs) <= set(original.inputs)
    inputs = compressed.inputs if by_name else original.inputs
    named = dict(zip(inputs, compressed.inputs, strict=True))
    named |= {
        tensor: tensor
        for tensor in original.maker
        if tensor in original.varying
        and tensor in compressed.varying
        and tensor in compressed.maker
        and _same_kind(pair, tensor, tensor)
    }
    named |= _by_quantised_names(pair, named)
    named |= _by_tails(pair, named)
    for output, counterpart in zip(original.outputs, compressed.outputs, strict=True):
        if output not in named and counterpart not in named.values():
            named[output] = counterpart
    counterparts = {tensor: _counterpart(compressed, name) for tensor, name in named.items()}
    _match_by_structure(pair, counterparts)
    counterparts = _behind_clips(pair, counterparts)
    _match_by_structure(pair, counterparts)  # what takes a clipped tensor
    return counterparts


def _by_quantised_names(pair: OpenedPair, named: dict[str, str]) -> dict[str, str]:
    """Tensors for which the compressed graph has integers of the same name."""
    matched = {}
    for tensor in pair.original.maker:
        quantise = pair.compressed.maker_of(tensor)
        if tensor in named or quantise is None or quantise.op_type != "QuantizeLinear":
            continue
        source = quantise.input[0]
        if source in pair.compressed.varying and _same_kind(pair, tensor, source):
            matched[tensor] = source
    return matched


def _by_tails(pair: OpenedPair, named: dict[str, str]) -> dict[str, str]:
    """Tensors whose names end alike, where the ends are unique and the operators the same."""
    graphs = pair.original, pair.compressed
    known = set(named), set(named.values())
    tails: list[dict[str, list[str]]] = [{}, {}]
    for graph, found, ends in zip(graphs, known, tails, strict=True):
        for tensor in graph.maker:
            is_integers = graph.maker_of(tensor).op_type == "QuantizeLinear"
            if tensor in graph.varying and tensor not in found and not is_integers:
                parts = tensor.lstrip("/").removesuffix(_BEFORE_QUANTISER).split("/")
                for start in range(len(parts) - 1):  # at least two parts agree
                    ends.setdefault("/".join(parts[start:]), []).append(tensor)
    matched: dict[str, str] = {}
    for tail in sorted(tails[0].keys() & tails[1].keys(), key=len, reverse=True):
        one, other = tails[0][tail], tails[1][tail]
        if len(one) != 1 or len(other) != 1 or one[0] in matched or other[0] in matched.values():
            continue
        operators = {g.maker_of(t[0]).op_type for g, t in zip(graphs, (one, other), strict=True)}
        if len(operators) == 1 and _same_kind(pair, one[0], other[0]):
            matched[one[0]] = other[0]
    return matched


def _same_kind(pair: OpenedPair, tensor: str, other: str) -> bool:
    """Whether both are numbers with a fraction, or of the same other type."""
    kinds = pair.original_types.get(tensor, ""), pair.compressed_types.get(other, "")
    return kinds[0] == kinds[1] or all("float" in k or k == "double" for k in kinds)


def _counterpart(graph: OnnxGraph, tensor: str) -> Counterpart:
    """The tensor with the quantiser that belongs to it."""
    raw = tensor
    dequantise = graph.maker_of(tensor)
    if dequantise is not None and dequantise.op_type == "DequantizeLinear":
        quantise = graph.maker_of(dequantise.input[0])
        if quantise is not None and quantise.op_type == "QuantizeLinear":
            raw = quantise.input[0]
    takers = graph.takers.get(raw, [])
    quantisers = [i for i in takers if graph.nodes[i].op_type == "QuantizeLinear"]
    shared = takers and len(quantisers) == len(takers) and raw not in graph.outputs
    if shared and len({scale_of(graph, i) for i in quantisers}) == 1:
        outputs = [graph.nodes[i].output[0] for i in quantisers]
        behind = [i for name in outputs for i in graph.takers.get(name, ())]
        are_floats = all(graph.nodes[i].op_type == "DequantizeLinear" for i in behind)
        if behind and are_floats and not set(outputs) & set(graph.outputs):
            final = tuple(graph.nodes[i].output[0] for i in behind)
            return Counterpart(raw, final, (*quantisers, *behind))
    return Counterpart(tensor, (tensor,), ())


def scale_of(graph: OnnxGraph, index: int) -> tuple[bytes, ...]:
    """Scale and zero point of a quantising or dequantising node, comparable with another's."""
    values = [graph.value(name) for name in graph.nodes[index].input[1:3]]
    names = graph.nodes[index].input[1:3]
    return tuple(
        name.encode() if value is None else value.tobytes()
        for value, name in zip(values, names, strict=True)
    )


def _match_by_structure(pair: OpenedPair, counterparts: dict[str, Counterpart]) -> None:
    original, compressed = pair.original, pair.compressed
    known = {name for part in counterparts.values() for name in (part.raw, *part.final)}
    for node in original.nodes:
        outputs = [name for name in node.output if name]
        inputs = [name for name in node.input if name in original.varying]
        if any(name in counterparts for name in outputs) or not inputs:
            continue
        if any(name not in counterparts for name in inputs):
            continue
        places = [(i, counterparts[n].final) for i, n in enumerate(node.input) if n in counterparts]
        candidates = {i for f in places[0][1] for i in compressed.takers.get(f, ())}
        fitting = [
            index
            for index in sorted(candidates)
            if _stands_for(compressed.nodes[index], node.op_type, places)
            and _of_same_ranks(pair, node, compressed.nodes[index])
            and not known & set(compressed.nodes[index].output)
        ]
        fitting = _nearest(pair, node, fitting)
        if len(fitting) == 1:
            for output, other in zip(
                node.output, compressed.nodes[fitting[0]].output, strict=False
            ):
                if output and other and _same_kind(pair, output, other):
                    counterparts[output] = _counterpart(compressed, other)
                    known |= {counterparts[output].raw, *counterparts[output].final}


def _stands_for(node: object, operator: str, places: list[tuple[int, tuple[str, ...]]]) -> bool:
    """Whether a node is of the operator and takes these tensors in these places."""
    inputs = list(node.input)  # type: ignore[attr-defined]
    return getattr(node, "op_type", "") == operator and all(
        place < len(inputs) and inputs[place] in names for place, names in places
    )


def _of_same_ranks(pair: OpenedPair, node: Any, other: Any) -> bool:
    """Whether shapes and axes that two moves of elements are given have as many numbers."""
    if node.op_type not in _SHAPED:
        return True
    graphs = (pair.original, node), (pair.compressed, other)
    given = [graph.value(one.input[1]) if len(one.input) > 1 else None for graph, one in graphs]
    sizes = {value.size for value in given if value is not None}
    return len(sizes) <= 1


def _nearest(pair: OpenedPair, node: object, fitting: list[int]) -> list[int]:
    """Of several candidates the one whose constants are most like the node's."""
    if len(fitting) < 2:
        return fitting
    constants = constants_of(pair.original, node)
    distances = []
    for index in fitting:
        candidates = constants_of(pair.compressed, pair.compressed.nodes[index])
        if [a.shape for a in candidates] != [a.shape for a in constants]:
            distances.append(np.inf)
            continue
        differences = [
            float(np.square(a - b).sum()) for a, b in zip(candidates, constants, strict=True)
        ]
        distances.append(sum(differences))
    best = int(np.argmin(distances))
    ties = distances.count(distances[best])
    return [fitting[best]] if ties == 1 and np.isfinite(distances[best]) else []


def constants_of(graph: OnnxGraph, node: object) -> list[Array]:
    """Values of a node's constant inputs, in order; dequantised where they are quantised."""
    values = [constant_value(graph, name) for name in node.input]  # type: ignore[attr-defined]
    return [value for value in values if value is not None]


def constant_value(graph: OnnxGraph, tensor: str) -> Array | None:
    """Float64 values of a constant; None where it is none.

    It is an initialiser, or one behind ``DequantizeLinear``, a cast, or a move of its elements.
    """
    value = graph.value(tensor)
    if value is not None:
        return value.astype(np.float64) if value.dtype.kind in "fiu" else None
    node = graph.maker_of(tensor)
    if node is None:
        return None
    if node.op_type == "DequantizeLinear":
        parts = [graph.value(name) for name in node.input]
        if any(part is None for part in parts) or parts[0] is None:
            return None
        zero = parts[2] if len(parts) > 2 else None
        return dequantise(parts[0], parts[1], zero, find_channel_axis(node))
    if node.op_type not in MOVES_OF_CONSTANTS:
        return None
    inner = constant_value(graph, node.input[0])
    return None if inner is None else move_values(graph, node, inner)


def move_values(graph: OnnxGraph, node: Any, values: Array) -> Array | None:
    """The values after a node of :data:`MOVES_OF_CONSTANTS`; None if that is not known."""
    if node.op_type == "Transpose":
        return values.transpose(permutation(node, values.ndim))
    if node.op_type != "Reshape":
        return values
    shape = graph.value(node.input[1])
    if shape is None or any(a.name == "allowzero" and a.i for a in node.attribute):
        return None
    sizes = [int(size) or values.shape[place] for place, size in enumerate(shape)]
    return values.reshape(sizes)


def move_values_back(
    node: Any, values: Array, axis: int, shape: tuple[int, ...]
) -> tuple[Array | None, int]:
    """Values and their channel axis before a move; a negative axis means none."""
    if node.op_type == "Transpose":
        order = permutation(node, values.ndim)
        return values.transpose(np.argsort(order)), order[axis] if axis >= 0 else axis
    if node.op_type != "Reshape":
        return values, axis
    if values.size != np.prod(shape):
        return None, -1
    ahead = np.cumprod([1, *shape])[: len(shape)]
    same = [
        place
        for place, size in enumerate(shape)
        if axis >= 0
        and size == values.shape[axis]
        and ahead[place] == np.prod(values.shape[:axis], dtype=int)
    ]
    return values.reshape(shape), same[0] if same else -1


def permutation(node: Any, axes: int) -> list[int]:
    """The order into which a ``Transpose`` node puts axes."""
    orders = [list(a.ints) for a in node.attribute if a.name == "perm"]
    return orders[0] if orders else list(reversed(range(axes)))


def dequantise(values: Array, scale: Array | None, zero: Array | None, axis: int) -> Array:
    """``(values - zero) * scale``, by channels along the axis where there are several scales."""
    shape = [1] * values.ndim
    factor, offset = np.asarray(scale, np.float64), np.zeros(1)
    if zero is not None:
        offset = zero.astype(np.float64)
    if factor.size > 1:
        shape[axis] = factor.size
    factor = factor.reshape(shape)
    offset = (
        offset.reshape(shape) if offset.size == factor.size else offset.reshape([1] * values.ndim)
    )
    return (values.astype(np.float64) - offset) * factor


def find_channel_axis(node: object) -> int:
    """The axis of a ``DequantizeLinear`` node's channels."""
    axes = [a.i for a in node.attribute if a.name == "axis"]  # type: ignore[attr-defined]
    return int(axes[0]) if axes else 1


def _behind_clips(pair: OpenedPair, counterparts: dict[str, Counterpart]) -> dict[str, Counterpart]:
    """Counterparts of clipped tensors where the quantiser's range does what the clip did.

    A quantiser whose lowest value is 0 needs no ``Relu`` before it, and ONNX Runtime's leaves it
    out: what other nodes take then stands for the tensor behind the ``Relu``.
    """
    original = pair.original
    result = dict(counterparts)
    for tensor, part in counterparts.items():
        takers = original.takers.get(tensor, [])
        if len(takers) != 1 or not part.quantiser or tensor in original.outputs:
            continue
        clip = original.nodes[takers[0]]
        if clip.op_type in _CLIPS and clip.output[0] not in counterparts:
            del result[tensor]
            result[clip.output[0]] = part
    return result
