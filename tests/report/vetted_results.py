"""Results of vetting a pair, made by hand."""

from copy import deepcopy
from functools import cache

import numpy as np
import polars as pl
import yaml

from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.core.parameters.params import validate
from asterism.report.vetted.page import write_vet_page
from asterism.vetting.opening import GivenPair
from asterism.vetting.params import VetParams
from places import ROOT

IMAGES = np.arange(5 * 12, dtype=np.uint8).reshape(5, 2, 2, 3)


def share(count, total, low, high):
    return {"count": count, "total": total, "share": count / total, "low": low, "high": high}


def quantiles(first):
    return {"median": first, "p90": 2 * first, "p99": 3 * first, "largest": 4 * first}


AGREEMENT = {
    "differ": share(6, 200, 0.011, 0.064),
    "lost": 2,
    "failed": 1,
    "figures": [{"name": "places with another label", "value": 0.125, "share": True}],
    "accuracy": [share(180, 200, 0.85, 0.94), share(176, 200, 0.83, 0.92)],
    "directions": {"right to wrong": 5, "wrong to right": 1, "wrong to other wrong": 0},
    "classes": {"0": share(1, 100, 0.0, 0.05), "1": share(5, 100, 0.02, 0.11)},
    "divergence": quantiles(0.25),
    "margin_lost": quantiles(0.5),
    "distance": {},
}
DEVICE = {"unanswered": None, "told": [], "arithmetic": ["MatMulNBits (1 node): in 32 bits"]}
FLIPS = [
    {
        **{"strength": "strong", "bound": "l2 8", "share": share(9, 30, 0.14, 0.5), "failed": 0},
        "by_change": {"blur": share(6, 30, 0.07, 0.39), "noise": share(3, 30, 0.02, 0.27)},
    },
    {
        **{"strength": "slight", "bound": "", "share": share(1, 30, 0.01, 0.17), "failed": 2},
        "by_change": {"blur": share(1, 30, 0.01, 0.17), "shade": share(0, 30, 0.0, 0.12)},
    },
]
SEARCHES = {
    "paper": {"seeds": 20, "success_rate": 0.35, "mean_queries": 12.34},
    "uniform": {"seeds": 20, "success_rate": 0.0, "mean_queries": None},
}
MET = {
    **{"name": "agreement on the given inputs", "measured": share(99, 100, 0.94, 1.0)},
    **{"threshold": 0.9, "at_least": True, "met": True},
}
REPAIR = {
    **{"bytes": 4000, "bytes_before": 3000, "bytes_original": 9000, "bits": 8},
    **{"nodes_in_float": 1, "quantised_nodes": 7, "nodes_with_finer_scales": 2},
    **{"nodes_with_finest_weights": 0, "slower": False},
    **{"criteria": [MET], "agreement_fell": False, "differ_before": share(6, 100, 0.02, 0.13)},
    **{"agreement": {"differ": share(1, 100, 0.0, 0.05)}, "gone_held_out": share(3, 4, 0.2, 0.99)},
    "new_search": {
        "paper": {"before": share(7, 20, 0.15, 0.6), "after": share(1, 20, 0.0, 0.25)},
    },
    "flips": [
        {"strength": "strong", "share": share(4, 30, 0.04, 0.31)},
        {"strength": "slight", "share": share(0, 30, 0.0, 0.12)},
    ],
}
UNREPAIRED = {"reason": "nothing deviates"}
FACTS = {
    **{"kind": "images", "classes": ["cat", "dog"]},
    "names": [f"image {n}.png" for n in range(40)],
    "notes": {"small.tflite": ["its input is quantised"], "big.onnx": []},
}
STRICT = {"agreement": 0.9, "accuracy_lost": 0.2, "worst_class": 0.8, "natural_flips": 0.5}


@cache
def parameters():
    """Those of this project, under which nothing is vetted."""
    return yaml.safe_load((ROOT / "params.yaml").read_text())["vet"]


class Results:
    """A workspace with the results of vetting, and the page about them."""

    def __init__(self, root):
        self.root, self.folder = root, root / "report/vet"
        self.measured = {"symptoms": [], "device": DEVICE, "agreement": AGREEMENT, "flips": FLIPS}
        self.repair, self.facts, self.thresholds = UNREPAIRED, FACTS, STRICT
        self.confidence = 0.95
        write_arrays(
            root / "artifacts/vet_search/triggers.npz", items=IMAGES[:0], seeds=np.zeros(0, int)
        )
        for name in ("big.onnx", "small.tflite", "inputs.npz"):
            (root / name).write_text(f"this is {name}")

    @property
    def params(self):
        document = deepcopy(parameters())
        names = {"original": "big.onnx", "compressed": "small.tflite", "inputs": "inputs.npz"}
        document |= {key: str(self.root / name) for key, name in names.items()}
        document |= {"thresholds": self.thresholds, "confidence": self.confidence}
        document["search"]["bound"] = {"measure": "l2", "limit": 8.0}
        return validate(VetParams, document)

    def leave_ranking(self, count):
        """A ranking of so many nodes."""
        ranking = {
            **{"node": [f"node_{n}" for n in range(count)], "operator": ["Conv"] * count},
            **{"explained": [0.5] * count, "error_explained": [0.25] * count},
            "own_error": [0.0123] * count,
        }
        write_table(self.root / "artifacts/vet_repair/ranking.csv", pl.DataFrame(ranking))

    def write(self):
        """Write the page; its verdict."""
        write_json(self.root / "metrics/vet_measure.json", self.measured)
        write_json(self.root / "metrics/vet_search.json", SEARCHES)
        write_json(self.root / "metrics/vet_repair.json", self.repair)
        write_json(self.root / "artifacts/vet_measure/inputs.json", self.facts)
        speeds = {
            **{"file": ["original", "compressed"], "bytes": [9000, 3000]},
            **{"milliseconds": [1.25, 0.5]},
        }
        write_table(self.root / "artifacts/vet_repair/speed.csv", pl.DataFrame(speeds))
        sha256 = GivenPair.by_files(self.params).hashes(self.params.label_file)
        return write_vet_page(self.params, 5, self.root, self.folder, sha256)

    @property
    def page(self):
        return (self.folder / "index.html").read_text()
