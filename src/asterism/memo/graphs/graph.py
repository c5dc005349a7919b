"""Model graphs: the representation that mutation, reduction and triage work on.

A graph is a value: every change gives a new one, and shapes are inferred as nodes are added, so
that a graph that exists is valid by the declarations of the universe. Nothing here needs Keras.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import EPSILON, Config, InvalidLayerError, Tensor

INPUT = "InputLayer"

#: The edit that puts something into a layer's weights that is no ordinary number.
SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class WeightEdit:
    """A mutation of a layer's weights, applied when they are made (``memo.graphs.weights``)."""

    kind: str
    seed: int


@dataclass(frozen=True, slots=True)
class Node:
    """A layer of a graph.

    Args:
        type: Keras' class name, or ``InputLayer``.
        config: the layer's parameters; an input's ``shape`` and ``dtype``.
        inputs: identities of the nodes that it reads, in order.
        seed: its new weights are drawn from this.
        weights: name of stored weights to take instead, where it has some.
        edits: mutations of its weights, in order.
        repair: whether it was only inserted to make shapes meet.
    """

    type: str
    config: Config
    inputs: tuple[int, ...] = ()
    seed: int = 0
    weights: str | None = None
    edits: tuple[WeightEdit, ...] = ()
    repair: bool = False

    @property
    def is_special(self) -> bool:
        """Whether it has a weight that is no ordinary number."""
        return any(edit.kind == SPECIAL for edit in self.edits)


@dataclass(frozen=True)
class Graph:
    """Nodes by identity, every node after those that it reads.

    Args:
        nodes: at least one input and one layer.
        tensors: what each node puts out; inferred where not given.
    """

    nodes: Mapping[int, Node]
    tensors: Mapping[int, Tensor] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if len(self.tensors) != len(self.nodes):
            object.__setattr__(self, "tensors", infer_outputs(self.nodes))

    @cached_property
    def consumers(self) -> dict[int, tuple[int, ...]]:
        """The nodes that read each node, in order."""
        readers: dict[int, list[int]] = {node: [] for node in self.nodes}
        for reader, node in self.nodes.items():
            for source in node.inputs:
                if reader not in readers[source]:
                    readers[source].append(reader)
        return {node: tuple(found) for node, found in readers.items()}

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The input nodes."""
        return tuple(i for i, node in self.nodes.items() if node.type == INPUT)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Nodes that nobody reads: the model's outputs."""
        return tuple(i for i in self.nodes if not self.consumers[i] and i not in self.inputs)

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """All nodes but the inputs."""
        return tuple(i for i in self.nodes if i not in self.inputs)

    @property
    def next_id(self) -> int:
        """An identity that no node has."""
        return max(self.nodes, default=-1) + 1

    @cached_property
    def depth(self) -> int:
        """Number of layers on the longest path."""
        depths: dict[int, int] = {}
        for i, node in self.nodes.items():
            depths[i] = max((depths[s] + 1 for s in node.inputs), default=0)
        return max(depths.values(), default=0)

    @cached_property
    def largest(self) -> int:
        """Elements of the largest tensor, per item of a batch."""
        return max(tensor.size for tensor in self.tensors.values())

    @cached_property
    def steps(self) -> int:
        """Computations that layers make one after another, a recurrent layer one at each step."""
        layers = universe()
        return sum(
            layers[node.type].steps(node.config, [self.tensors[i] for i in node.inputs])
            for node in self.nodes.values()
            if node.type in layers
        )

    @cached_property
    def epsilon(self) -> float:
        """Machine epsilon of the coarsest dtype that a layer computes in."""
        return max(EPSILON.get(t.dtype, 0.0) for t in self.tensors.values())

    def add(self, node: Node) -> tuple[Graph, int]:
        """The graph with one more node at its end, and that node's identity.

        Raises:
            InvalidLayerError: the layer cannot take its inputs.
        """
        identity = self.next_id
        tensor = output_of(node, [self.tensors[i] for i in node.inputs])
        return (
            Graph({**self.nodes, identity: node}, {**self.tensors, identity: tensor}),
            identity,
        )

    def change(self, identity: int, **changes: Any) -> Graph:
        """The graph with fields of one node replaced, and the shapes after it inferred again.

        Raises:
            InvalidLayerError: a layer cannot take what it would get.
        """
        return self.with_nodes({**self.nodes, identity: replace(self.nodes[identity], **changes)})

    def with_nodes(self, nodes: Mapping[int, Node]) -> Graph:
        """A graph of other nodes, where shapes are only inferred behind what differs from this.

        Raises:
            InvalidLayerError: a layer cannot take what it would get, or the edges close a cycle.
        """
        tensors: dict[int, Tensor] = {}
        ordered = sort_topologically(nodes)
        for i, node in ordered.items():
            same = self.nodes.get(i) is node
            if same and all(tensors[s] is self.tensors[s] for s in node.inputs):
                tensors[i] = self.tensors[i]
            else:
                tensors[i] = output_of(node, [tensors[s] for s in node.inputs])
        return Graph(ordered, tensors)

    def redirect(self, old: int, new: int, readers: Iterable[int] | None = None) -> Graph:
        """The graph where ``readers`` (all of them by default) read ``new`` instead of ``old``.

        Raises:
            InvalidLayerError: a reader cannot take it.
        """
        chosen = set(self.consumers[old] if readers is None else readers)
        nodes = {
            i: replace(n, inputs=tuple(new if s == old else s for s in n.inputs))
            if i in chosen and i != new
            else n
            for i, n in self.nodes.items()
        }
        return self.with_nodes(nodes)

    def keep(self, outputs: Iterable[int]) -> Graph:
        """The part of the graph that ``outputs`` depend on."""
        needed: set[int] = set()
        waiting = list(outputs)
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                waiting.extend(self.nodes[node].inputs)
        return Graph(
            {i: n for i, n in self.nodes.items() if i in needed},
            {i: t for i, t in self.tensors.items() if i in needed},
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON value that :func:`~asterism.memo.graphs.store.graph_from_json` reads."""
        return {
            "nodes": [
                {
                    "id": i,
                    "type": n.type,
                    "config": n.config,
                    "inputs": list(n.inputs),
                    "seed": n.seed,
                    **({"weights": n.weights} if n.weights is not None else {}),
                    **({"edits": [[e.kind, e.seed] for e in n.edits]} if n.edits else {}),
                    **({"repair": True} if n.repair else {}),
                }
                for i, n in self.nodes.items()
            ]
        }


def input_node(shape: Sequence[int], dtype: str = "float32") -> Node:
    """An input of a model; ``shape`` is without the batch axis."""
    return Node(INPUT, {"shape": list(shape), "dtype": dtype})


def output_of(node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """The output of a node for ``inputs``.

    Raises:
        InvalidLayerError: it cannot take them, or no layer of its type is declared.
    """
    if node.type == INPUT:
        return Tensor(tuple(node.config["shape"]), node.config["dtype"])
    spec = universe().get(node.type)
    if spec is None:
        raise InvalidLayerError(f"no layer {node.type} is declared")
    return spec.output(node.config, inputs)


def infer_outputs(nodes: Mapping[int, Node]) -> dict[int, Tensor]:
    """The output of every node.

    Raises:
        InvalidLayerError: a layer cannot take its inputs.
    """
    tensors: dict[int, Tensor] = {}
    for i, node in nodes.items():
        tensors[i] = output_of(node, [tensors[s] for s in node.inputs])
    return tensors


def sort_topologically(nodes: Mapping[int, Node]) -> dict[int, Node]:
    """The same nodes, each after those that it reads; otherwise ordered by identity.

    Raises:
        InvalidLayerError: the edges close a cycle.
    """
    ordered: dict[int, Node] = {}
    waiting = dict(sorted(nodes.items()))
    while waiting:
        later: dict[int, Node] = {}
        for i, node in waiting.items():
            if all(s in ordered for s in node.inputs):
                ordered[i] = node
            else:
                later[i] = node
        if len(later) == len(waiting):
            raise InvalidLayerError("the edges close a cycle")
        waiting = later
    return ordered


def sequential(tensor: Tensor, steps: Iterable[Callable[[Tensor], Node]]) -> Graph:
    """A graph of an input and successive layers; each step makes a node from its input."""
    graph = Graph({0: input_node(tensor.shape, tensor.dtype)})
    last = 0
    for step in steps:
        graph, last = graph.add(replace(step(graph.tensors[last]), inputs=(last,)))
    return graph
