"""How fast Dflare finds triggering inputs, on published models and real data.

    python benchmarks/compressed.py [lenet1|resnet20] [--seeds 200] [--all]

Models lie in ``../shared/models`` and data in ``../shared/data``, relative to the repository.
The baseline is the released Dflare, measured on 4 idle cores with a ceiling of 180 s a seed.
"""

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("ASTERISM_DATA_ROOT", str(SHARED / "data"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import yaml  # noqa: E402

from asterism.data import DataParams, load  # noqa: E402
from asterism.dflare.comparison import TopLabel  # noqa: E402
from asterism.dflare.domain import ImageDomain  # noqa: E402
from asterism.dflare.lockstep import Budget, Subject  # noqa: E402
from asterism.dflare.pair import Pair, open_pair  # noqa: E402
from asterism.dflare.params import TriggerParams  # noqa: E402
from asterism.dflare.searches import SEARCHES  # noqa: E402
from asterism.dflare.trigger import draw_seeds  # noqa: E402
from asterism.models.preprocessing import PreprocessingParams  # noqa: E402

SUBJECTS = {
    # data, files, preprocessing, the released tool's ms a query and mean queries of a success
    "lenet1": ("mnist", "lenet1.h5", "lenet1-quan.lite", "unit", 1.25, 95.4),
    "resnet20": ("cifar10", "resnet.h5", "resnet-quan.lite", "cifar10", 4.6, None),
}


def conf(path):
    return yaml.safe_load((ROOT / "conf" / path).read_text(encoding="utf-8"))


def inference_alone(pair, images):
    """Seconds an image for both models, one by one and in batches."""
    for size in (1, 32, 200, 512):
        batch = np.resize(images, (size, *images.shape[1:]))
        pair.ask(batch)
        rounds = max(1, 256 // size)
        started = time.perf_counter()
        for _ in range(rounds):
            pair.ask(batch)
        each = (time.perf_counter() - started) / rounds / size
        print(f"  inference alone, batches of {size:3}: {1e3 * each:.4f} ms an image")


def measure(name, params, subject, seeds, queries):
    chosen = params.searches[name]
    kind = SEARCHES[chosen.search]
    busy, started = subject.pair.busy_seconds, time.perf_counter()
    search = kind(
        subject,
        Budget(queries),
        seeds.items,
        seeds.numbers.tolist(),
        0,
        name,
        kind.Options(**chosen.options),
    )
    findings = search.run()
    seconds = time.perf_counter() - started
    first = np.array([trigger.queries for trigger in findings.triggers])
    searched = sum(r.outcome != "deviates_already" for r in findings.seeds)
    total = sum(r.queries for r in findings.seeds)
    inference = subject.pair.busy_seconds - busy
    overhead = (seconds - inference) / inference
    print(
        f"  {name:10} success {len(first)}/{searched} ({len(seeds.items)} seeds), queries: mean "
        f"{first.mean():.1f}, median {np.median(first):.0f}, largest {first.max()}; "
        f"{seconds:.2f} s, {1e3 * seconds / total:.4f} ms a query, "
        f"{len(first) / seconds:.1f} triggering inputs a second, overhead {100 * overhead:.0f}% "
        "of inference"
    )
    return len(first) / seconds, first.mean(), inference / total


def run(name, count, everything):
    source, original, compressed, preprocessing, baseline_ms, baseline_queries = SUBJECTS[name]
    data = load(DataParams(name=source, path="", train=10, test=None))
    params = TriggerParams(**conf("trigger/default.yaml"))
    scaling = PreprocessingParams(**conf(f"preprocessing/{preprocessing}.yaml"))
    seeds = draw_seeds(data.test_images, count, 0)
    files = [SHARED / "models" / file for file in (original, compressed)]
    print(f"{name}: {original} and {compressed}, {count} test images")
    with open_pair(*files, scaling) as models:
        for model in models:
            right = model.predict(data.test_images[:2000]).argmax(1) == data.test_labels[:2000]
            print(f"  {model.name}: {100 * right.mean():.2f}% of the first 2000 test images")
        subject = Subject(Pair(*models), ImageDomain(params.operators), TopLabel())
        inference_alone(subject.pair, data.test_images[:512])
        rate, mean, _ = measure("dflare", params, subject, seeds, 20_000)
        baseline = 1e3 / (baseline_ms * (baseline_queries or mean))
        print(
            f"  the released tool: {baseline:.1f} a second ({baseline_ms} ms a query, "
            f"{baseline_queries or round(mean, 1)} queries a success): {rate / baseline:.1f} "
            "times as many here"
        )
        if everything:
            papers = {"diffchaser": "0.186% to 1.937%", "dflare_d": "-", "dflare_r": "-"}
            for other, reported in papers.items():
                _, theirs, _ = measure(other, params, subject, seeds, 20_000)
                print(
                    f"  Dflare's queries are {100 * mean / theirs:.1f}% of {other}'s "
                    f"(the paper: {reported})"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", default=list(SUBJECTS), metavar="subject")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--all", action="store_true", help="also the ablations and DiffChaser")
    arguments = parser.parse_args()
    for subject_name in arguments.subjects:
        run(subject_name, arguments.seeds, arguments.all)
