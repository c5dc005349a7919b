"""Layer-wise relevance propagation through the operations of a network, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import Composite
from asterism.deepimportance.network import (
    ElementwiseOperation,
    InputWeightedOperation,
    LinearOperation,
    Network,
    OpaqueOperation,
    RoutingOperation,
    WeightedSum,
)
from asterism.deepimportance.rules import RelevanceStep, divide_relevance
from asterism.deepimportance.tensor_ops import Tensor, find_tensor_ops


class NoRelevanceError(UserError):
    """Relevance has no way to a layer; what needs activations alone can still be measured.

    Args:
        reason: why, such as which operation it cannot pass, and where that stands.
        supported: what it can pass in its place, for the message.
    """

    def __init__(self, reason: str, supported: Sequence[str] = ()) -> None:
        self.reason = reason
        listed = ", ".join(supported)
        super().__init__(reason + f" (supported: {listed})" * bool(listed))


def find_node_of_layer(network: Network, layer: str) -> int:
    """The node of a layer's output.

    Raises:
        UserError: there is no such layer, or it stands at or behind the scores, where relevance
            starts.
        NoRelevanceError: relevance has no way from there to it.
    """
    inner = [name for name, place in network.outputs_of.items() if place < network.start]
    if layer not in inner:
        raise UserError(
            f"relevance has no way to the layer {layer!r}: it starts at the scores and goes back "
            f"to the layers before them ({', '.join(inner)})"
        )
    place = network.outputs_of[layer]
    require_path(network, place, f"the layer {layer!r}")
    return place


def require_path(network: Network, place: int, told: str) -> None:
    """Reject a node that relevance cannot reach from the scores.

    Args:
        network: the operations.
        place: index of the node, before the scores.
        told: what messages call it.

    Raises:
        NoRelevanceError: it names the operation that relevance cannot pass.
    """
    for index in sorted(find_relevance_carriers(network) & network.leading_from(place) - {place}):
        operation = network.nodes[index].operation
        if isinstance(operation, OpaqueOperation):
            reason = f"relevance cannot pass {operation.told} behind {told}"
            raise NoRelevanceError(reason, operation.supported)


def find_relevance_carriers(network: Network) -> set[int]:
    """The nodes that relevance reaches from its start; gates receive none."""
    found = {network.start}
    for index in range(network.start, 0, -1):
        if index in found:
            node = network.nodes[index]
            weighed = (
                node.operation.weighed
                if isinstance(node.operation, InputWeightedOperation)
                else None
            )
            found.update(node.inputs if weighed is None else [node.inputs[weighed]])
    return found


def propagate_relevance(
    network: Network, composite: Composite, values: list[Tensor], seed: Tensor, target: int
) -> Tensor:
    """Relevance at the node ``target``, given that of the node where relevance starts.

    Args:
        network: the operations.
        composite: rules.
        values: the values of all nodes, as :meth:`Network.values` gives them.
        seed: relevance of ``network.start``, of its shape.
        target: index of the node whose relevance is wanted.
    """
    relevance: dict[int, Tensor] = {network.start: seed}
    leading, sees_input = network.leading_from(target), _sees_input(network)
    for index in range(network.start, target, -1):
        arrived = relevance.pop(index, None)
        if arrived is None:  # only nodes after the start read it
            continue
        shares = _shares(network, composite, values, index, arrived, first=sees_input[index])
        for i, part in zip(network.nodes[index].inputs, shares, strict=True):
            if i in leading and part is not None:
                relevance[i] = relevance[i] + part if i in relevance else part
    if target not in relevance:
        return 0 * values[target]
    return relevance[target]


def _shares(
    network: Network,
    composite: Composite,
    values: list[Tensor],
    index: int,
    arrived: Tensor,
    *,
    first: bool,
) -> list[Tensor | None]:
    """A node's relevance, shared among its inputs; None for what takes none."""
    node = network.nodes[index]
    inputs = [values[i] for i in node.inputs]
    match node.operation:
        case LinearOperation() as linear:
            nonnegative = network.nodes[node.inputs[0]].nonnegative
            box = _box(network, node.inputs[0], values) if first else None
            at = RelevanceStep(linear, inputs[0], arrived, nonnegative, box)
            return [composite.rule(linear.kind, first=first).share(at)]
        case ElementwiseOperation():
            return [arrived]
        case RoutingOperation() as routing:
            return list(find_tensor_ops(arrived).gradient(routing.forward, inputs, arrived))
        case WeightedSum() as addition:
            unit = divide_relevance(arrived, values[index])
            return [w * x * unit for w, x in zip(addition.weights, inputs, strict=True)]
        case InputWeightedOperation() as weighted:
            return _of_weighed(weighted, inputs, divide_relevance(arrived, values[index]))
    raise AssertionError("relevance has a way through every operation before the target")


def _of_weighed(
    weighted: InputWeightedOperation, inputs: list[Tensor], unit: Tensor
) -> list[Tensor | None]:
    """All relevance goes to the input that is weighed."""
    x, weights = inputs[weighted.weighed], weighted.weights(*inputs)
    (slope,) = find_tensor_ops(x).gradient(
        lambda given: weighted.function(given, weights), [x], unit
    )
    shares: list[Tensor | None] = [None] * len(inputs)
    shares[weighted.weighed] = x * slope
    return shares


def _sees_input(network: Network) -> list[bool]:
    """Which nodes have no dense layer or convolution between the input and themselves."""
    clean = [True] * len(network.nodes)  # of a node's own value: no weights up to it
    first = [True] * len(network.nodes)
    for index, node in enumerate(network.nodes[1:], start=1):
        first[index] = all(clean[i] for i in node.inputs)
        weighs = isinstance(node.operation, LinearOperation) and node.operation.kind != "pooling"
        clean[index] = first[index] and not weighs
    return first


def _box(network: Network, index: int, values: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Smallest and largest value that a node before any weights can take, ``(1, …)``."""
    ops, one = find_tensor_ops(values[0]), values[0][:1]
    ends = []
    for bound in (network.low, network.high):
        known: dict[int, Tensor] = {0: ops.spread(ops.constant(bound, one), one)}
        for i in range(1, index + 1):
            node = network.nodes[i]
            if node.operation is not None and all(j in known for j in node.inputs):
                known[i] = node.operation.forward(*(known[j] for j in node.inputs))
        ends.append(known[index])
    smaller = ends[0] < ends[1]
    return ops.where(smaller, *ends), ops.where(smaller, ends[1], ends[0])
