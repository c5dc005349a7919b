"""How soon vetting from Python asks its first question, and what it adds to inference.

``python benchmarks/vetting_in_python.py``: seconds of ``import asterism``, seconds until a model is
first asked, and the time that both modules take for all given inputs within vetting, as a multiple
of the time that they take for the same batches alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

import numpy as np

_INPUTS, _BATCH, _RUNS = 512, 32, 5
_STARTED = """
import time; started = time.perf_counter()
import asterism
imported = time.perf_counter()
import numpy as np
asked = []
def model(rows):
    asked.append(time.perf_counter())
    return np.tanh(rows[:, :3])
few = ["vet.changes.inputs=4", "vet.search.seeds=2", "vet.search.queries=4"]
asterism.vet(model, model, np.random.default_rng(0).normal(size=(40, 6)), comparison="regression",
             overrides=few)
print(imported - started, asked[0] - started, time.perf_counter() - started)
"""


def started() -> dict[str, float]:
    """Seconds from the start of a program, medians of several processes."""
    names = ("import", "first question", "whole answer")
    runs = []
    for _ in range(_RUNS):
        done = subprocess.run(
            [sys.executable, "-c", _STARTED], capture_output=True, text=True, check=True
        )
        runs.append([float(word) for word in done.stdout.split()[-3:]])
    return {name: statistics.median(row[i] for row in runs) for i, name in enumerate(names)}


def overhead() -> dict[str, float]:
    """Both modules' time for the inputs, alone and within vetting."""
    from contextlib import ExitStack

    import torch
    from torch import nn

    from asterism.api.models import as_pair
    from asterism.data.given.reading import Arrays
    from asterism.dflare.pair import ModelPair
    from asterism.models.tensor_models.feeding import FeedingParams

    def network() -> nn.Module:
        layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2)]
        return nn.Sequential(*layers, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()

    pair = network(), network()
    items = np.random.default_rng(0).normal(size=(_INPUTS, 3, 48, 48)).astype(np.float32)
    feeding = FeedingParams(
        input=None, outputs=None, constants=[], step=None, context=0, pad=0, preprocessing=None
    )
    alone, within = [], []
    with ExitStack() as after:
        opened = ModelPair(
            *(one.open(feeding, False, items[:16]) for one in as_pair(*pair, Arrays(items), after))
        )
        for _ in range(_RUNS):
            began = time.perf_counter()
            with torch.no_grad():
                for module in pair:
                    for start in range(0, _INPUTS, _BATCH):
                        module(torch.from_numpy(items[start : start + _BATCH])).numpy()
            middle = time.perf_counter()
            opened.ask(items)
            alone.append(middle - began)
            within.append(time.perf_counter() - middle)
    best = min(alone), min(within)
    return {"alone": best[0], "within vetting": best[1], "ratio": best[1] / best[0]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"seconds": started(), "inference": overhead()}, indent=2) + "\n")
