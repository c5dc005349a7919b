"""What layers cost in the libraries: `python benchmarks/layer_costs.py`.

Models drawn from some campaigns run one after the other in six backends. Their seconds of a
processor are fitted by non-negative least squares (Lawson and Hanson 1974): so much a model, so
much a plain layer, so much a recurrent layer and each of its steps. Prints the seconds, and what
each is in plain layers: the ``cost`` of layers that ``asterism.memo.universe`` declares. Run it
from the project's root on a machine that does nothing else.
"""

from __future__ import annotations

import argparse

import numpy as np
from figures import write_figures
from scipy.optimize import nnls

from asterism.core.messages.console import progress
from asterism.core.parameters.params import read_params
from asterism.core.workers.worker import Limits
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.generating.strategy import campaign
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.universe.spec import universe
from libraries import FAST_BACKENDS, Params, seeds

#: Kinds of layers that cost something once, and something for each of their steps.
LOOPS = {
    "LSTM, GRU, SimpleRNN": ("LSTM", "GRU", "SimpleRNN"),
    "Bidirectional": ("Bidirectional",),
    "ConvLSTM1D, 2D, 3D": ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"),
}
TERMS = ("a model", "a plain layer", *(f"{k}, {w}" for k in LOOPS for w in ("once", "a step")))
#: Costs above this share of all models are cut to it: a hang or a crash tells nothing of layers.
_CUT = 0.98


def counts(graph: Graph) -> list[int]:
    """How often each of :data:`TERMS` occurs in a model, in their order."""
    loops = {kind: [0, 0] for kind in LOOPS}
    plain = 0
    for node in graph.nodes.values():
        kind = next((k for k, names in LOOPS.items() if node.type in names), None)
        if kind is None:
            plain += node.type != INPUT
            continue
        steps = universe()[node.type].steps(node.config, [graph.tensors[i] for i in node.inputs])
        loops[kind][0] += 1
        loops[kind][1] += steps
    return [1, plain, *(count for pair in loops.values() for count in pair)]


def measured(graphs: list[Graph]) -> list[float]:
    """Seconds of a processor that each model takes in all backends."""
    spent = []
    with WorkerPool(FAST_BACKENDS, Limits(60, 3000)) as pool:
        pool.start()
        before = sum(pool.seconds.values())
        for number, graph in enumerate(progress(graphs, label="run", unit="model")):
            pool.run(Task(number, graph, {"normal": sample_inputs(graph, 0, number, "normal")}))
            now = sum(pool.seconds.values())
            spent.append(now - before)
            before = now
    return spent


def main() -> None:
    """Run the models of some campaigns and fit their costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=60, help="of each campaign")
    parser.add_argument("--campaigns", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="into the manual")
    asked = parser.parse_args()
    import_keras("numpy")
    params = read_params(Params)
    made = seeds(params.reduce)
    budget = params.generate.model_copy(update={"models": 2000})
    graphs: list[Graph] = []
    for seed in range(asked.campaigns):
        whole = campaign(made, budget, seed, "memo")
        drawn = np.random.default_rng(seed).choice(len(whole.mutants), asked.models, replace=False)
        graphs += [whole.mutants[at].graph for at in drawn]
    seconds = np.array(measured(graphs))
    factors = np.array([counts(graph) for graph in graphs], float)
    costs, _ = nnls(factors, np.minimum(seconds, np.quantile(seconds, _CUT)))
    rows = [
        [term, f"{total:,.0f}", f"{cost:.3f}", f"{cost / costs[1]:.1f}"]
        for term, total, cost in zip(TERMS, factors.sum(0), costs, strict=True)
    ]
    agreement = np.corrcoef(factors @ costs, seconds)[0, 1]
    print(f"{len(graphs)} models, {seconds.mean():.3f} s on average, correlation {agreement:.2f}")
    for row in rows:
        print("  " + "  ".join(row))
    if asked.write:
        header = ("of", "in these models", "seconds of a processor", "in plain layers")
        write_figures("libraries", "what layers cost", header, rows)


if __name__ == "__main__":
    main()
