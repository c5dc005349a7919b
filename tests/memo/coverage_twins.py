"""Layer coverage written a second time, from the definitions: every node and path one by one."""

from functools import cache
from itertools import product

from asterism.core.randomness.random_streams import stream
from asterism.memo.universe.parameters import Choice, Number, ShapeDependentParameter, Sizes
from asterism.memo.universe.spec import MAX_RANK, universe
from asterism.memo.universe.tensors import InvalidLayerError, Tensor


def slow_types(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type != "InputLayer" and not node.repair:
                seen.add(node.type)
    return seen


@cache
def observed_ranks(name):
    """Ranks that a layer's outputs have when it is configured at random, over all its inputs."""
    spec, ranks = universe()[name], set()
    count = spec.arity[0]
    for chosen in product(sorted(spec.ranks), repeat=count if name == "Dot" else 1):
        chosen = (chosen * count)[:count]
        tensors = [Tensor((4,) * (rank - 1), spec.dtypes[0]) for rank in chosen]
        for number in range(24):
            config = spec.draw(stream(8, name, *chosen, number), tensors)
            if name == "Reshape":  # its draws leave the highest rank to ConvLSTM3D's inputs
                axes = number % (MAX_RANK - 1)
                config["target_shape"] = [*[1] * axes, tensors[0].size]
            try:
                ranks.add(spec.output(config, tensors).rank)
            except InvalidLayerError:
                continue
    return ranks


def slow_meet(first, second):
    """Whether some output of the first was seen that the second reads."""
    reads_floats = any(dtype.startswith("float") for dtype in universe()[second].dtypes)
    return reads_floats and any(r in universe()[second].ranks for r in observed_ranks(first))


def slow_edges(graphs):
    """Every path from a layer to a layer over nothing but repairs, walked one by one.

    Yields ``(pair, whether a repair lies on the path)``.
    """
    for graph in graphs:
        for first in graph.nodes:
            if graph.nodes[first].type == "InputLayer" or graph.nodes[first].repair:
                continue
            waiting = [(first, False)]
            while waiting:
                at, repaired = waiting.pop()
                for reader, node in graph.nodes.items():
                    if at in node.inputs and node.repair:
                        waiting.append((reader, True))
                    elif at in node.inputs and slow_meet(graph.nodes[first].type, node.type):
                        yield (graph.nodes[first].type, node.type), repaired


def slow_pairs(graphs):
    """Pairs of layers that meet, however they do."""
    return {pair for pair, _ in slow_edges(graphs)}


def slow_only_repaired(graphs):
    """Pairs of layers that meet nowhere but through a repair."""
    return slow_pairs(graphs) - {pair for pair, repaired in slow_edges(graphs) if not repaired}


def slow_inputs(graphs):
    """What each layer reads: ``(layer, rank, dtype)``."""
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type == "InputLayer" or node.repair:
                continue
            for source in node.inputs:
                tensor = graph.tensors[source]
                seen.add((node.type, 1 + len(tensor.shape), tensor.dtype))
    return seen


def slow_bin(value, low, high, integer):
    """The bin of a number by going through all of them, or through the edges from below."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not low <= value <= high:
        return None
    if integer:
        numbers = list(range(int(low), int(high) + 1))
        bins = min(5, len(numbers))
        return f"bin{bins * numbers.index(value) // len(numbers)}"
    edges = [low + (high - low) * n / 5 for n in range(1, 5)]
    return f"bin{sum(value >= edge for edge in edges)}"


def slow_kind(layer, name, value):
    """The label of a value that depends on its input's shape, by what Keras means by it."""
    if name == "equation":
        left, output = value.split("->")
        given, weights = left.split(",")
        return f"rank {len(given)}, kernel of {len(weights)} axes, output of {len(output)}"
    if name == "target_shape":
        return f"{len(value)} axes" + (", one open" if value.count(-1) else "")
    if name == "dims":
        upwards = list(range(1, len(value) + 1))
        return "identity" if value == upwards else "reversal" if value == upwards[::-1] else "other"
    assert name in ("padding", "cropping")
    axes = [value] if layer.endswith("1D") or isinstance(value, int) else value
    borders = [[axis, axis] if isinstance(axis, int) else axis for axis in axes]
    if all(before == after == 0 for before, after in borders):
        return "none"
    return "even" if all(before == after for before, after in borders) else "uneven"


def slow_labels(parameter, value, layer=""):
    """Options that a value covers, by the meaning of each kind of declaration."""
    if isinstance(parameter, Choice):
        return {str(v) for v in parameter.values if str(v) == str(value)}
    if isinstance(parameter, Number):
        found = {slow_bin(value, parameter.low, parameter.high, parameter.integer)}
    elif isinstance(parameter, Sizes):
        values = value if isinstance(value, list) else [value]
        found = {slow_bin(v, parameter.low, parameter.high, True) for v in values}
    else:
        assert isinstance(parameter, ShapeDependentParameter)
        return {slow_kind(layer, parameter.name, value)} & set(parameter.kinds)
    return set() if None in found else found


def slow_parameters(graphs):
    seen = set()
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type == "InputLayer" or node.repair:
                continue
            for name, value in node.config.items():
                for parameter in universe()[node.type].all_parameters:
                    if parameter.name == name:
                        labels = slow_labels(parameter, value, node.type)
                        seen |= {(node.type, name, label) for label in labels}
    return seen
