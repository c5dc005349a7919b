"""A network's graph run by ONNX Runtime: one that was written here, or the user's own file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from asterism.core.messages.errors import UserError, reading
from asterism.core.parameters.registry import suggest_closest
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.onnx_files import read_renamed_onnx
from asterism.models.formats.onnx import open_session
from asterism.models.recurrent.model import Floats, Inputs, SequenceForm
from asterism.models.signatures.onnx import is_recurrent


class OnnxEngine:
    """A graph with one input; its first two outputs are the results.

    Each call has one thread: several blocks at once use the processors better than one block
    divided.

    Args:
        graph: a serialised ONNX model.
        form: what its input takes; its layer's states are the second output.
    """

    threads = True
    notes: tuple[str, ...] = ()

    def __init__(self, graph: bytes, form: SequenceForm) -> None:
        self._session = open_session(graph, "the network")
        self.graph, self.form = graph, form
        self._input = self._session.get_inputs()[0].name
        self._outputs = [output.name for output in self._session.get_outputs()[:2]]

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        try:
            outputs, states = self._session.run(self._outputs, {self._input: sequences})
        except Exception as error:
            raise UserError(f"ONNX Runtime cannot run the network: {error}") from error
        return np.asarray(outputs, np.float32), np.asarray(states, np.float32)


def require_finite(weights: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Reject a network that is broken in a way that its outputs do not show.

    ONNX Runtime clips the gates of recurrent operators, which makes finite numbers of NaN.

    Args:
        weights: arrays with their names.

    Raises:
        UserError: one of them holds NaN or infinity.
    """
    for name, values in weights:
        if not np.isfinite(values).all():
            raise UserError(f"the network's weights {name} hold NaN or infinity")


#: What the types of an input's elements are called where a step is one number, by its rank; of
#: vectors nothing.
_TAKEN: dict[int, dict[int, str | None]] = {
    2: {TensorProto.INT32: "int32", TensorProto.INT64: "int64", TensorProto.FLOAT: "float32"},
    3: {TensorProto.FLOAT: None},
}


def open_onnx(path: Path, layer: str | None) -> OnnxEngine:
    """An engine for an ONNX file.

    Args:
        path: a model with one input: float32 ``(N, T, F)``, or numbers ``(N, T)``.
        layer: name of an LSTM, GRU or RNN node, or of a tensor ``(N, T, H)``; None for the last
            recurrent node.

    Raises:
        UserError: unreadable, of another form, with data in other files, without such a node, or
            with weights of NaN.
    """
    file = read_renamed_onnx(path)
    model = file.model
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # protobuf and the checker raise types of their own
        raise UserError(f"{path} is no ONNX model, or is damaged: {error}") from error
    graph = model.graph
    taken = _input_form(path, graph)
    with reading(str(path)):  # an array may not fit its shape
        require_finite(_recurrent_weights(graph))
    name = _add_states(path, graph, layer, file.names)
    del graph.output[2:]
    return OnnxEngine(model.SerializeToString(), SequenceForm(layer=name, **taken))


def _input_form(path: Path, graph: Any) -> dict[str, Any]:
    """What the graph takes, as fields of the engine's form."""
    constants = {constant.name for constant in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    tensor = inputs[0].type.tensor_type if len(inputs) == 1 else None
    rank = 0 if tensor is None else len(tensor.shape.dim)
    kinds = _TAKEN.get(rank, {})
    if tensor is None or tensor.elem_type not in kinds:
        raise UserError(
            f"{path} must have one input: float32 (N, T, F), or integers or float32 (N, T)"
        )
    sizes = [d.dim_value if d.dim_value > 0 else None for d in tensor.shape.dim]
    return {
        "batch": sizes[0],
        "steps": sizes[1],
        "features": sizes[2] if rank == 3 else None,
        "numbers": kinds[tensor.elem_type],
    }


def _recurrent_weights(graph: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Other constants may well be infinite: masks are."""
    read = {name for node in graph.node if is_recurrent(node) for name in node.input}
    for constant in graph.initializer:
        if constant.name in read:
            yield constant.name, numpy_helper.to_array(constant)


def _add_states(path: Path, graph: Any, layer: str | None, names: NameMap) -> str:
    """Make the layer's states the graph's second output; the layer's name in the file."""
    recurrent = {
        names.theirs(node.name) or names.theirs(node.output[0]): node
        for node in graph.node
        if is_recurrent(node)
    }
    tensors = {names.theirs(name): name for node in graph.node for name in node.output if name}
    if layer is None:
        if not recurrent:
            raise UserError(
                f"{path} has no LSTM, GRU or RNN node: name the tensor (N, T, H) to profile"
            )
        layer = list(recurrent)[-1]
    if layer in recurrent:
        states = _batch_first(graph, recurrent[layer])
    elif layer in tensors:
        states = tensors[layer]
    else:
        known = list(recurrent)
        raise UserError(
            f"{path} has no recurrent node and no tensor {layer!r}"
            f"{suggest_closest(layer, [*known, *tensors])} "
            f"(recurrent nodes: {', '.join(known) or 'none'})"
        )
    value = helper.make_tensor_value_info(states, TensorProto.FLOAT, None)
    others = list(graph.output)[:1]
    del graph.output[:]
    graph.output.extend([*others, value])
    return layer


def _batch_first(graph: Any, node: Any) -> str:
    """Nodes that bring a recurrent node's ``(T, directions, B, H)`` to ``(B, T, directions·H)``."""
    if not node.output or not node.output[0]:
        every_step = f"{node.output[-1]}/every_step"
        rest = list(node.output)[1:]
        del node.output[:]
        node.output.extend([every_step, *rest])
    every_step = node.output[0]
    batch_major = any(a.name == "layout" and a.i == 1 for a in node.attribute)
    permutation = [0, 1, 2, 3] if batch_major else [2, 0, 1, 3]
    turned, shape, states = (f"{every_step}/{part}" for part in ("turned", "shape", "states"))
    graph.initializer.append(numpy_helper.from_array(np.array([0, 0, -1]), shape))
    graph.node.extend(
        [
            helper.make_node("Transpose", [every_step], [turned], perm=permutation),
            helper.make_node("Reshape", [turned, shape], [states]),
        ]
    )
    return states
