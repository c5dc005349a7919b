"""Graphs that ``torch.compile`` compiles an hour: `python benchmarks/compiled_graphs.py`.

    python benchmarks/compiled_graphs.py [--models 16]

Keras' own code interrupts Dynamo, so that one model is many graphs. Models of generation run here
as in a worker. Processor seconds are those of this process and of Inductor's compilers below it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asterism.core.parameters.params import read_params
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.pytorch import COMPILED_GRAPHS
from asterism.differential.engine.inputs import sample_inputs
from asterism.memo.generating.strategy import campaign
from asterism.memo.graphs.keras_build import build
from asterism.memo.graphs.light_keras import import_keras
from libraries import Params, processor_seconds, seeds

#: Options of PyTorch that compile by Inductor.
OPTIONS = ("compile", "compile_dynamic", *COMPILED_GRAPHS)


class Built:
    """A Keras model in place of one that a worker reads from a file."""

    def __init__(self, graph: object, model: object) -> None:
        self._graph, self._model, self.batch = graph, model, 2

    def graph(self) -> object:
        return self._graph

    def keras(self, **_: object) -> object:
        return self._model


def main() -> None:
    """Compile and run the models, and say how many graphs that was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=16)
    parser.add_argument("--option", choices=OPTIONS, default="compile")
    asked = parser.parse_args()
    import_keras("torch")
    library = LIBRARIES["pytorch"]()
    library.start()
    params = read_params(Params)
    budget = params.generate.model_copy(update={"models": 2000})
    whole = campaign(seeds(params.reduce), budget, 0, "memo")
    chosen = [whole.mutants[at].graph for at in whole.broadest(asked.models)]

    from torch._dynamo.utils import counters

    graphs = ran = 0
    began = processor_seconds()
    for at, graph in enumerate(chosen):
        counters.clear()
        inputs = sample_inputs(graph, 0, at, "normal")
        try:
            compiled = library.compile(Built(graph, build(graph)), asked.option)  # type: ignore[arg-type]
            library.run(compiled, inputs)
            ran += 1
        except Exception as error:
            print(f"model {at}: {type(error).__name__}")
        graphs += counters["stats"]["unique_graphs"]
    used = processor_seconds() - began
    hour = 2 * 3600 / used
    row = [asked.option, f"{ran} of {asked.models}", f"{graphs:,}", f"{used / asked.models:.1f}"]
    row += [f"{graphs * hour:,.0f}", f"{asked.models * hour:,.0f}"]
    header = ["option", "models that ran", "graphs", "processor seconds a model"]
    header += ["graphs an hour on two cores", "models an hour on two cores"]
    print(" | ".join(header), " | ".join(row), sep="\n")


if __name__ == "__main__":
    main()
