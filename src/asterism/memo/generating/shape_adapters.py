"""Making shapes meet: the few layers that let any tensor flow into any layer.

Repairs have no weights and are marked, so that coverage counts the edge through them as an edge
between the two layers that they join.
"""

from __future__ import annotations

from asterism.memo.graphs.graph import Graph, Node
from asterism.memo.universe.shapes import factorise
from asterism.memo.universe.tensors import InvalidLayerError, Tensor

#: Least size of the axes that windows slide over, so that common kernels fit.
_ROOM = 4


def reshape_to_rank(graph: Graph, source: int, rank: int) -> tuple[Graph, int]:
    """``source`` reshaped to ``rank`` axes (batch included), where it has another rank."""
    tensor = graph.tensors[source]
    if tensor.rank == rank:
        return graph, source
    return _reshape(graph, source, factorise(tensor.size, rank - 1))


def adapt_to_shape(graph: Graph, source: int, shape: tuple[int, ...]) -> tuple[Graph, int]:
    """``source`` brought to ``shape``: flattened, cropped or padded with zeros, and reshaped."""
    tensor = graph.tensors[source]
    if tensor.shape == shape:
        return graph, source
    wanted = Tensor(shape).size
    if tensor.size != wanted:
        graph, source = _reshape(graph, source, (tensor.size, 1))
        excess = tensor.size - wanted
        kind, name = ("Cropping1D", "cropping") if excess > 0 else ("ZeroPadding1D", "padding")
        graph, source = _add(graph, kind, {name: [0, abs(excess)]}, source)
    return _reshape(graph, source, shape)


def pad_for_window(graph: Graph, source: int, rank: int) -> tuple[Graph, int]:
    """``source`` at ``rank``, its spatial axes padded so that a window fits into them."""
    graph, source = reshape_to_rank(graph, source, rank)
    *sizes, channels = graph.tensors[source].shape
    roomy = tuple(max(size, _ROOM) for size in sizes)
    return adapt_to_shape(graph, source, (*roomy, channels))


def _reshape(graph: Graph, source: int, shape: tuple[int, ...]) -> tuple[Graph, int]:
    if graph.tensors[source].shape == shape:
        return graph, source
    return _add(graph, "Reshape", {"target_shape": list(shape)}, source)


def _add(graph: Graph, kind: str, config: dict[str, object], source: int) -> tuple[Graph, int]:
    dtype = graph.tensors[source].dtype
    if dtype == "int32":
        raise InvalidLayerError("integers are not repaired")
    return graph.add(Node(kind, {**config, "dtype": dtype}, (source,), repair=True))
