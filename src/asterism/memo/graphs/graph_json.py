"""Reading graphs from JSON that others may have written: all of it is checked.

Models travel between colleagues as JSON, and scripts that run are made of them. So every key, type
and value is compared with the declared universe first. Values have the declared kind. They may lie
outside the declared range, as those of published models do.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from pydantic import Field

from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError
from asterism.memo.graphs.graph import INPUT, Graph, Node, WeightEdit, output_of
from asterism.memo.graphs.weights import WEIGHT_EDITS
from asterism.memo.universe.parameters import LARGEST
from asterism.memo.universe.spec import MAX_RANK, universe
from asterism.memo.universe.tensors import FLOATS, INTEGER, InvalidLayerError, Tensor, require

#: Elements of one item of an input. To draw a batch of two then takes a gigabyte.
LARGEST_INPUT = 2**26

Identity = Annotated[int, Field(ge=0, le=LARGEST)]
Size = Annotated[int, Field(ge=1, le=LARGEST)]
Dtype = Annotated[str, Field(pattern=f"^({'|'.join((*FLOATS, INTEGER))})$")]
#: The seed of a run may have many digits.
NodeSeed = Annotated[int, Field(ge=0, lt=2**256)]
#: A name of stored weights: of a model and its nested layers.
WeightsName = Annotated[str, Field(max_length=4096)]


@dataclass(frozen=True)
class NodeRecord:
    """A node of a graph as JSON has it; see :class:`~asterism.memo.graphs.graph.Node`."""

    id: Identity
    type: str
    config: dict[str, Any]
    inputs: tuple[Identity, ...]
    seed: NodeSeed
    weights: WeightsName | None = None
    edits: tuple[tuple[str, NodeSeed], ...] = ()
    repair: bool = False


@dataclass(frozen=True)
class InputRecord:
    """The configuration of an input: its shape without the batch, and what integers are below."""

    shape: Annotated[tuple[Size, ...], Field(max_length=MAX_RANK - 1)]
    dtype: Dtype
    bound: Size = 1


def graph_from_json(value: Any) -> Graph:
    """The graph that a JSON value describes.

    Args:
        value: what :meth:`~asterism.memo.graphs.graph.Graph.to_json` gives.

    Raises:
        UserError: a key, a type or a value is not declared, or a layer does not fit its inputs.
    """
    listed = value["nodes"] if isinstance(value, dict) and value.keys() == {"nodes"} else None
    if not isinstance(listed, list):
        raise UserError("a graph is a list of nodes and nothing else")
    nodes: dict[int, Node] = {}
    tensors: dict[int, Tensor] = {}
    for number, given in enumerate(listed):
        try:
            record = record_from(NodeRecord, given)
            node = _checked(record, nodes)
            tensors[record.id] = output_of(node, [tensors[i] for i in node.inputs])
            nodes[record.id] = node
        except (UserError, InvalidLayerError) as error:
            raise UserError(f"{_called(number, given)}: {error}") from None
        except KeyError as missing:  # what a shape rule asks a configuration for
            raise UserError(f"{_called(number, given)}: it has no {missing}") from None
        except (TypeError, ValueError, IndexError, ArithmeticError) as error:
            raise UserError(f"{_called(number, given)} fits no input: {error}") from None
    graph = Graph(nodes, tensors)
    if not graph.inputs or not graph.layers:
        raise UserError("a graph has at least an input and a layer")
    return graph


def _called(number: int, given: Any) -> str:
    """A node as an error names it."""
    kind = given.get("type") if isinstance(given, dict) else given
    return f"node {number}, {reprlib.repr(kind)}"


def _checked(record: NodeRecord, before: Mapping[int, Node]) -> Node:
    """The node of a record; it may read those that stand before it."""
    kind, config = record.type, record.config
    require(record.id not in before, "another node has its id")
    require(all(i in before for i in record.inputs), "it reads a node that stands behind it")
    if kind == INPUT:
        require(not record.inputs, "an input reads nothing")
        shape = record_from(InputRecord, config).shape
        require(prod(shape) <= LARGEST_INPUT, f"it has more than {LARGEST_INPUT:,} elements")
    elif kind in universe():
        universe()[kind].check(config)
    else:
        raise InvalidLayerError("the universe declares no such layer")
    edits = []
    for name, seed in record.edits:
        require(name in WEIGHT_EDITS, f"{reprlib.repr(name)} is no edit of weights")
        edits.append(WeightEdit(name, seed))
    weights, repair = record.weights, record.repair
    return Node(kind, config, record.inputs, record.seed, weights, tuple(edits), repair)
