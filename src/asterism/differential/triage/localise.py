"""Where in a model values first go wrong."""

from __future__ import annotations

from dataclasses import replace

from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge_of
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import INPUT, Graph


def first_diverging(
    worker_pool: WorkerPool, task: Task, backend: str, params: JudgeParams
) -> int | None:
    """The first layer, in the model's order, that is wrong although what it reads is right.

    Every intermediate output is put out by the backend itself and by the references.

    Returns:
        The layer's node; None where putting out intermediate results hides the difference.
    """
    graph = task.graph
    assert isinstance(graph, Graph)
    nodes = tuple(i for i in graph.nodes if graph.nodes[i].type != INPUT)
    backends = tuple(dict.fromkeys((backend, *FLOAT64)))
    result = worker_pool.run(Task(task.index, graph, task.inputs, nodes, backends))
    for distribution in task.inputs:
        for at, node in enumerate(nodes):
            single = replace(
                result,
                outputs={
                    r: {distribution: outputs[distribution][at : at + 1]}
                    for r, outputs in result.outputs.items()
                },
            )
            if judge_of(graph, single, distribution, params, (node,)).of(backend).by_values:
                return node
    return None
