"""Opening an original and its compressed ONNX model as a pair of graphs in one form."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError, reading
from asterism.localisation.graph import OnnxGraph
from asterism.localisation.qoperators import QuantisedOperators, without_constant_nodes
from asterism.localisation.running import Session
from asterism.models.foreign.onnx_files import read_onnx
from asterism.models.onnx_graphs import own_opset, with_outputs

#: ONNX's own operators of the first set in which a scale may hold for each channel, and the format
#: version of its files.
PER_CHANNEL_OPSET, _FORMAT = 13, 7


@dataclass(frozen=True)
class OpenedPair:
    """Two models, both as in their files and as graphs.

    Attributes:
        original: the float model; its operators are of the compressed model's sets.
        compressed: the compressed model with all static quantisation in the QDQ form, raised to
            the operators of set 13 where it is older and can be.
        original_types: element types of the original's tensors that depend on its inputs, as
            ONNX Runtime writes them (``float``, ``int64``), by name; and of the compressed model's.
        compressed_types: see ``original_types``.
        original_file: the original model as its file holds it, serialised.
        compressed_file: the compressed model as its file holds it, serialised.
    """

    original: OnnxGraph
    compressed: OnnxGraph
    original_types: dict[str, str]
    compressed_types: dict[str, str]
    original_file: bytes
    compressed_file: bytes


def open_graphs(original: Path, compressed: Path) -> OpenedPair:
    """Read both files.

    Args:
        original: a float model, ``.onnx``.
        compressed: a compressed version of it, ``.onnx``: QDQ, QOperator, dynamically quantised
            or in half precision.

    Raises:
        UserError: a file cannot be read or run, or they have other inputs or outputs.
    """
    models = read_onnx(original), read_onnx(compressed)
    return pair_graphs(*models, names=(str(original), str(compressed)))


def pair_graphs(
    original: Any,
    compressed: Any,
    *,
    names: tuple[str, str] = ("the original", "the compressed model"),
) -> OpenedPair:
    """The pair of two models that have been read.

    Args:
        original: an ``onnx.ModelProto``.
        compressed: an ``onnx.ModelProto``.
        names: the names of the two, for messages.

    Raises:
        UserError: see :func:`open_graphs`.
    """
    original = _with_outputs_as(original, compressed)
    files = [model.SerializeToString(deterministic=True) for model in (original, compressed)]
    second = _with_scales_of_channels(compressed)
    first = _of_opset(original, second, names)
    with reading(names[1]):
        without_constant_nodes(first)
        without_constant_nodes(second)
        if own_opset(second) >= PER_CHANNEL_OPSET:
            second = QuantisedOperators(second).model
        graphs = OnnxGraph(first), OnnxGraph(second)
    for what in ("inputs", "outputs"):
        one, other = (getattr(graph, what) for graph in graphs)
        is_known = what == "inputs" and set(other) <= set(one)
        if len(one) != len(other) and not is_known:
            raise UserError(
                f"{names[0]} has {len(one)} {what} and {names[1]} has {len(other)}: "
                "they are no pair"
            )
    types = [_types(graph, name) for graph, name in zip(graphs, names, strict=True)]
    return OpenedPair(*graphs, types[0], types[1], files[0], files[1])


def _with_outputs_as(original: Any, compressed: Any) -> Any:
    """The original with its outputs in the compressed model's order, where they have its names."""
    named = {output.name: output for output in original.graph.output}
    order = [output.name for output in compressed.graph.output]
    if named.keys() != set(order) or list(named) == order:
        return original
    turned = deepcopy(original)
    del turned.graph.output[:]
    turned.graph.output.extend(named[name] for name in order)
    return turned


def _of_opset(original: Any, compressed: Any, names: tuple[str, str]) -> Any:
    """The original by the compressed model's operators, so that its nodes can stand there."""
    wanted = own_opset(compressed)
    if own_opset(original) == wanted:
        return deepcopy(original)
    try:
        return _converted(original, wanted)
    except Exception as error:  # the converter raises what its adapters raise
        raise UserError(
            f"{names[0]} has operators of set {own_opset(original)} and {names[1]} of set "
            f"{wanted}, and the former cannot be converted: export both with the same set ({error})"
        ) from None


def _with_scales_of_channels(compressed: Any) -> Any:
    """The compressed model by operators that take scales of channels, where it can be converted."""
    if own_opset(compressed) < PER_CHANNEL_OPSET:
        with suppress(Exception):  # the converter raises what its adapters raise
            raised = _converted(compressed, PER_CHANNEL_OPSET)
            raised.ir_version = max(raised.ir_version, _FORMAT)
            return raised
    return deepcopy(compressed)


def _converted(model: Any, opset: int) -> Any:
    from onnx.version_converter import convert_version

    return convert_version(model, opset)


def _types(graph: OnnxGraph, name: str) -> dict[str, str]:
    """Element types of all tensors that depend on an input, as ONNX Runtime infers them."""
    wanted = sorted(graph.varying & set(graph.maker))
    session = Session(with_outputs(graph.model, wanted), name, optimised=False)
    return {**session.input_types, **session.output_types}
