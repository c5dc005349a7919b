"""Graphs that ``torch.compile`` compiles an hour: `python benchmarks/compiled_graphs.py`.

    python benchmarks/compiled_graphs.py [--models 12] [--minutes 4]

Keras' own code interrupts Dynamo, so that one model is many graphs. Models of generation run here
as in a worker, with the variables that it has, and with an empty cache of compiled graphs: what an
earlier run has left there would count as fast. As in a worker too, a trivial model is first
compiled: the first graph of a process makes the headers and starts the compilers of all later ones.
Processor seconds are those of this process and of Inductor's compilers below it. No model begins
after the minutes, of which generation takes a part.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asterism.core.parameters.params import read_params
from asterism.core.running.footprint import processor_seconds
from asterism.differential.adapters.library import LIBRARIES, Library
from asterism.differential.backends.pytorch import COMPILED_GRAPHS
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.trivial import trivial_models
from asterism.differential.engine.worker_environment import variables
from asterism.memo.generating.strategy import run_campaign
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.light_keras import import_keras
from libraries import Params, seeds

#: Options of PyTorch that compile by Inductor.
OPTIONS = ("compile", "compile_dynamic", *COMPILED_GRAPHS)


class Built:
    """A Keras model in place of one that a worker reads from a file."""

    def __init__(self, graph: Graph, model: object) -> None:
        self.graph, self._model, self.batch = graph, model, 2

    def keras(self, **_: object) -> object:
        return self._model


def main() -> None:
    """Compile and run the models, and say how many graphs that was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=12, help="the so many best, at most")
    parser.add_argument("--minutes", type=float, default=4, help="no model begins after these")
    parser.add_argument("--option", choices=OPTIONS, default="compile")
    asked = parser.parse_args()
    deadline = time.perf_counter() + 60 * asked.minutes
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= variables("torch") | {"TORCHINDUCTOR_CACHE_DIR": cache}
        measure(asked.option, asked.models, deadline)


def measure(option: str, models: int, deadline: float) -> None:
    """Print a line for each model, and the rates of all."""
    import_keras("torch")
    from torch._dynamo.utils import counters

    library = LIBRARIES["pytorch"]()
    library.start()
    params = read_params(Params)
    budget = params.generate.model_copy(update={"models": 2000})
    whole = run_campaign(seeds(params.reduce), budget, 0, "memo")
    trivial, _ = next(trivial_models([f"pytorch:{option}"]))
    assert isinstance(trivial, Graph)
    compiled_by(library, trivial, option, 0)
    graphs = ran = tried = 0
    began = processor_seconds()
    for number in whole.choose_broadest(models):
        tried += 1
        counters.clear()
        before, said = processor_seconds(), "ran"
        try:
            compiled_by(library, whole.mutants[number].graph, option, number)
            ran += 1
        except Exception as error:
            said = type(error).__name__
        made = counters["stats"]["unique_graphs"]
        graphs += made
        took = processor_seconds() - before
        print(f"model {number}: {said}, {made} graphs, {took:.1f} s of a processor", flush=True)
        if time.perf_counter() > deadline:
            break
    used = processor_seconds() - began
    hour = 2 * 3600 / used
    row = [option, f"{ran} of {tried}", f"{graphs:,}", f"{used / tried:.1f}"]
    row += [f"{graphs * hour:,.0f}", f"{tried * hour:,.0f}"]
    header = ["option", "models that ran", "graphs", "processor seconds a model"]
    header += ["graphs an hour on two cores", "models an hour on two cores"]
    print(" | ".join(header), " | ".join(row), sep="\n")


def compiled_by(library: Library, graph: Graph, option: str, number: int) -> None:
    """Compile a model and run it once."""
    compiled = library.compile(Built(graph, build_model(graph)), option)  # type: ignore[arg-type]
    library.run(compiled, sample_inputs(graph, 0, number, "normal"))


if __name__ == "__main__":
    main()
