"""Layer coverage written a second time, from the definitions: every node and path one by one."""

from functools import cache
from itertools import product

from asterism.core.random_streams import stream
from asterism.memo.universe.layers import MAX_RANK, universe
from asterism.memo.universe.tensors import InvalidLayerError, Tensor


def layers_of(graphs):
    """Each node that is neither an input nor a repair, after its graph and its identity."""
    for graph in graphs:
        for identity, node in graph.nodes.items():
            if node.type != "InputLayer" and not node.repair:
                yield graph, identity, node


def slow_types(graphs):
    return {node.type for _, _, node in layers_of(graphs)}


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
    for graph, identity, first in layers_of(graphs):
        waiting = [(identity, False)]
        while waiting:
            at, repaired = waiting.pop()
            for reader, node in graph.nodes.items():
                if at in node.inputs and node.repair:
                    waiting.append((reader, True))
                elif at in node.inputs and slow_meet(first.type, node.type):
                    yield (first.type, node.type), repaired


def slow_pairs(graphs):
    """Pairs of layers that meet, however they do."""
    return {pair for pair, _ in slow_edges(graphs)}


def slow_only_repaired(graphs):
    """Pairs of layers that meet nowhere but through a repair."""
    return slow_pairs(graphs) - {pair for pair, repaired in slow_edges(graphs) if not repaired}


def slow_inputs(graphs):
    """What each layer reads: ``(layer, rank, dtype)``."""
    seen = set()
    for graph, _, node in layers_of(graphs):
        for source in node.inputs:
            tensor = graph.tensors[source]
            seen.add((node.type, 1 + len(tensor.shape), tensor.dtype))
    return seen


def slow_parameters(graphs):
    seen = set()
    for _, _, node in layers_of(graphs):
        for name, value in node.config.items():
            for parameter in universe()[node.type].all_parameters:
                if parameter.name == name:
                    seen |= {(node.type, name, label) for label in parameter.labels(value)}
    return seen
