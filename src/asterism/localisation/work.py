"""Estimating the work of one run of a graph, to recognise expensive trials without a clock."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.tensor_errors import TensorError

#: Multiplications that take as long as one value of a tensor to store and to load, about.
_A_VALUE = 30.0
#: Operators of which each result is a sum over the weights of its channel.
_SUMS = ("Conv", "ConvTranspose", "MatMul", "Gemm")


def work_of(pair: MatchedPair, errors: Sequence[TensorError]) -> float:
    """Multiplications of one run, about; values of tensors count as some.

    Args:
        pair: the matched pair.
        errors: of the pair's tensors, which say how many values each has.
    """
    values = {error.tensor: error.values for error in errors}
    graph, work = pair.opened.original, _A_VALUE * sum(values.values())
    for node in pair.nodes:
        results = max((values.get(tensor, 0.0) for tensor in node.outputs), default=0.0)
        for index in node.members:
            part = graph.nodes[index]
            weights = constant_value(graph, part.input[1]) if part.op_type in _SUMS else None
            if weights is not None and weights.size:
                turned = any(a.name == "transB" and a.i for a in part.attribute)
                first = turned or part.op_type == "Conv"
                work += results * weights.size / weights.shape[0 if first else -1]
    return work
