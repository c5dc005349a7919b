"""Where in a model values first go wrong."""

from __future__ import annotations

from asterism.libraries.adapters.routes import FLOAT64
from asterism.libraries.judging.oracle import differences
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.bench import Bench, Result, Task
from asterism.memo.graphs.graph import INPUT


def first_diverging(bench: Bench, task: Task, route: str, params: JudgeParams) -> int | None:
    """The first layer, in the model's order, that is wrong although what it reads is right.

    Every intermediate output is put out by the route itself and by the references.

    Returns:
        The layer's node; None where putting out intermediate results hides the difference.
    """
    graph = task.graph
    nodes = tuple(i for i in graph.nodes if graph.nodes[i].type != INPUT)
    routes = (route, *FLOAT64)
    result = bench.run(Task(task.index, graph, task.inputs, nodes, routes))
    for draw in task.inputs:
        wrong: set[int] = set()
        for at, node in enumerate(nodes):
            single = Result(
                task.index,
                result.draws,
                result.outcomes,
                {r: {draw: outputs[draw][at : at + 1]} for r, outputs in result.outputs.items()},
            )
            found = differences(graph, single, draw, params, (node,))
            if found.get(route) is not None:
                if not wrong & set(graph.nodes[node].inputs):
                    return node
                wrong.add(node)
    return None
