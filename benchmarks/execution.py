"""Processor seconds of a generated model in the backends of an experiment.

    python benchmarks/execution.py [--experiment library_campaign] [--kinds normal wide nan]

The float64 references run too, as in the stage. Models are those that cover most for their cost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from figures import write_figures
from recording import models

from asterism.config import Params, compose
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.differential.engine.execution import execute, open_worker_pool
from asterism.memo.graphs.store import write_weights
from libraries import processor_seconds


def main() -> None:
    """Run the models with all kinds of inputs, and say what a model and a run take."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--experiment", default="library_campaign")
    parser.add_argument("--kinds", nargs="+", default=["normal", "wide"], help="of inputs")
    parser.add_argument("--write", action="store_true", help="into the manual")
    asked = parser.parse_args()
    document = parse_yaml(compose(Path("conf"), [f"+experiment={asked.experiment}"]), "conf")
    shares = {"special_share": 0.0, "outside_share": 0.0}
    document["execute"] |= {"distributions": asked.kinds, **shares}
    params = validate(Params, document)
    chosen = models(params, asked.models)
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        write_weights(weights, {})
        with open_worker_pool(params.execute, weights) as pool:
            pool.start()
            began, used = time.perf_counter(), processor_seconds()
            record = execute(chosen, pool, asked.kinds, params.seed)
            seconds, used = time.perf_counter() - began, processor_seconds() - used
    ended = Counter(o["status"] for task in record.tasks() for o in task["outcomes"])
    row = [str(len(params.execute.backends)), ", ".join(asked.kinds), f"{ended['ok']:,}"]
    row += [f"{used / asked.models:.1f}", f"{used / ended.total():.3f}"]
    row += [f"{seconds / asked.models:.1f}"]
    print(" | ".join(row), dict(ended))
    if asked.write:
        header = ["backends under test", "kinds of inputs", "runs that gave outputs"]
        header += ["processor seconds a model", "a run of it", "seconds a model by the clock"]
        write_figures("libraries", "models of a campaign", header, [row])


if __name__ == "__main__":
    main()
