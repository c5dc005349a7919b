"""How fast Dflare finds triggering inputs, on published models and real data.

    python benchmarks/compressed.py [lenet1|resnet20] [--seeds 200] [--alone] [--chased 20]

Models lie in ``../shared/models`` and data in ``../shared/data``, relative to the repository.
The baseline is the released Dflare, measured on 4 idle cores with a ceiling of 180 s a seed. How
many queries it needs was measured on LeNet-1 alone. So its search is rebuilt here, with its
fitness, its ranges and its casts that wrap around: on LeNet-1 this shows how well, on ResNet-20 it
gives the number. For machines that are faster or slower than that one, the pair's inference image
by image, which is most of what the released tool does, is timed here too, as it was there: by Keras
and LiteRT themselves.
Then Dflare again with the published ranges of its operators, its ablations, and DiffChaser, which
needs so many queries that it gets only the first 20 of the seeds; ``--alone`` leaves all of them
out. Overhead is what a search takes beyond its inference: each run's batches are asked again by
themselves, as many at a time as in the run, and the median of up to nine times is what the run's is
compared with, by the clock and by the processor seconds of this process and of the models'.
``taskset -c 0`` before the command shows how much more the second processor, or the fourth, gives.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("ASTERISM_DATA_ROOT", str(SHARED / "data"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import yaml  # noqa: E402
from ai_edge_litert.interpreter import Interpreter  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from recorded import RecordedPair, measured  # noqa: E402

from asterism.core.settings import machine  # noqa: E402
from asterism.data import DataParams, load  # noqa: E402
from asterism.dflare.comparisons.labels import TopLabel  # noqa: E402
from asterism.dflare.domains.images import ImageDomain  # noqa: E402
from asterism.dflare.lockstep import PairUnderTest, SeedBudget  # noqa: E402
from asterism.dflare.pair import open_pair  # noqa: E402
from asterism.dflare.params import TriggerParams  # noqa: E402
from asterism.dflare.searches import SEARCHES  # noqa: E402
from asterism.dflare.trigger import SearchSeeds, draw_seeds  # noqa: E402
from asterism.images import noise  # noqa: E402
from asterism.models.keras_models.preprocessing import PreprocessingParams  # noqa: E402
from asterism.models.keras_models.reading import load_keras  # noqa: E402

SUBJECTS: dict[str, tuple[Any, ...]] = {
    # data, files, preprocessing, the released tool's ms a query and mean queries of a success
    # (None: not measured), and ms of inference in a query there
    "lenet1": ("mnist", "lenet1.h5", "lenet1-quan.lite", "unit", 1.25, 95.4, 0.77),
    "resnet20": ("cifar10", "resnet.h5", "resnet-quan.lite", "cifar10", 4.6, None, 4.6),
}

#: Dflare's queries as a share of the others', and how many times less time it takes: the paper's
#: section 5.2 and table 6, for LeNet-1 and for ResNet-20 (``results/papers``).
PUBLISHED_SHARES = {
    "diffchaser": "0.186% to 1.937%",
    "dflare_d": "1.03% on LeNet-1, 14.9% on ResNet-20",
    "dflare_r": "93% on LeNet-1, 99% on ResNet-20",
}
PUBLISHED_SPEEDUPS = {
    "diffchaser": "17.84 to 446.06 times less",
    "dflare_d": "77.93 on LeNet-1, 6.78 on ResNet-20",
    "dflare_r": "1.05 on LeNet-1, 1.09 on ResNet-20",
}


def conf(path: str) -> Any:
    document = yaml.safe_load((ROOT / "conf" / path).read_text(encoding="utf-8"))
    document.pop("defaults", None)
    return document


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


def image_by_image(original, compressed, images):
    """Milliseconds for one image through Keras and LiteRT, one after the other."""
    model = load_keras(original)
    spec = tf.TensorSpec((1, *model.input_shape[1:]), tf.float32)
    keras_model = tf.function(lambda image: model(image, training=False), input_signature=[spec])
    interpreter = Interpreter(str(compressed))
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    images = images.reshape(-1, 1, *given["shape"][1:])
    for image in images:  # the first round warms up
        keras_model(tf.constant(image)).numpy()
    started = time.perf_counter()
    for image in images:
        keras_model(tf.constant(image)).numpy()
        interpreter.set_tensor(given["index"], image)
        interpreter.invoke()
        interpreter.get_tensor(answer["index"])
    return 1e3 * (time.perf_counter() - started) / len(images)


def trigger_params(*files: str) -> TriggerParams:
    """The parameters of the trigger stage that these files of conf/trigger give, one on another."""
    merged = OmegaConf.merge(*(conf(f"trigger/{file}.yaml") for file in files))
    return TriggerParams.model_validate(OmegaConf.to_container(merged))


def search(name, params, under_test, seeds):
    """The queries up to each seed's first triggering input, by its number; seconds in all.

    Search and replay take turns, nine times where a turn takes half a second: the first is colder.
    """
    chosen = params.searches[name]
    kind = SEARCHES[chosen.search]
    options = kind.Options(**chosen.options)
    budget = SeedBudget(params.queries)
    times = measured(
        under_test.pair,
        lambda: kind(
            under_test, budget, seeds.items, seeds.numbers.tolist(), 0, name, options
        ).run(),
    )
    findings, seconds = times.findings, times.seconds
    queries = {trigger.seed: trigger.queries for trigger in findings.triggers}
    searched = sum(r.outcome != "deviates_already" for r in findings.seeds)
    total = sum(r.queries for r in findings.seeds)
    first = np.array(list(queries.values()))
    print(
        f"  {name:10} success {len(first)}/{searched} ({len(seeds.items)} seeds), queries: mean "
        f"{first.mean():.1f}, median {np.median(first):.0f}, largest {first.max()}; "
        f"{1e3 * seconds / total:.4f} ms a query, "
        f"{len(first) / seconds:.1f} triggering inputs a second; {times}"
    )
    return queries, seconds


def wrap_around(values):
    """Grey levels as uint8 the way the released tool casts them: modulo 256."""
    return np.rint(values).astype(np.int64).astype(np.uint8)


def search_as_released(pair, seeds, fitness):
    """Mean queries with the released tool's ranges and casts, by its fitness or the paper's."""
    params = trigger_params("default", "large", "released")
    params.searches["dflare"].options["fitness"] = fitness
    print(f"  the released tool's search rebuilt, fitness {fitness}:")
    with mock.patch.object(noise, "to_pixels", wrap_around):
        queries, _ = search(
            "dflare", params, PairUnderTest(pair, ImageDomain(params.operators), TopLabel()), seeds
        )
    return float(np.mean(list(queries.values())))


def compare(name, params, under_test, seeds):
    """Dflare and another search from the same seeds: queries where both succeeded, and time."""
    ours, seconds = search("dflare", params, under_test, seeds)
    theirs, their_seconds = search(name, params, under_test, seeds)
    both = sorted(ours.keys() & theirs.keys())
    share = sum(ours[seed] for seed in both) / sum(theirs[seed] for seed in both)
    print(
        f"  Dflare's queries are {100 * share:.2f}% of {name}'s on the same {len(both)} seeds "
        f"(the paper: {PUBLISHED_SHARES[name]}), its time {their_seconds / seconds:.1f} times less "
        f"(the paper: {PUBLISHED_SPEEDUPS[name]})"
    )


def run(name, count, alone, chased):
    source, original, compressed, preprocessing, *baseline = SUBJECTS[name]
    baseline_ms, baseline_queries, inference_ms = baseline
    data = load(DataParams(name=source, path="conf/no_file", train=10, test=None))
    params = trigger_params("default", "large")
    scaling = PreprocessingParams(**conf(f"preprocessing/{preprocessing}.yaml"))
    seeds = draw_seeds(data.test_images, count, 0)
    files = (SHARED / "models" / original, SHARED / "models" / compressed)
    print(
        f"{name}: {original} and {compressed}, {count} test images, "
        f"{machine.available_threads()} processors"
    )
    with open_pair(*files, scaling) as models:
        for model in models:
            right = model.predict(data.test_images[:2000]).argmax(1) == data.test_labels[:2000]
            print(f"  {model.name}: {100 * right.mean():.2f}% of the first 2000 test images")
        under_test = PairUnderTest(RecordedPair(*models), ImageDomain(params.operators), TopLabel())
        inference_alone(under_test.pair, data.test_images[:512])
        ours, seconds = search("dflare", params, under_test, seeds)
        rebuilt = search_as_released(under_test.pair, seeds, "released")
        rate, needed = len(ours) / seconds, baseline_queries or rebuilt
        released = 1e3 / (baseline_ms * needed)
        print(
            f"  the released tool: {released:.1f} a second ({baseline_ms} ms a query, "
            f"{needed:.1f} queries a success{'' if baseline_queries else ' where rebuilt'}): "
            f"{rate / released:.1f} times as many here"
        )
        ms = image_by_image(*files, scaling.apply(data.test_images[:200]))
        print(
            f"  image by image, Keras and LiteRT take {ms:.2f} ms here and {inference_ms} there: "
            f"on one machine {rate / released * ms / inference_ms:.1f} times as many"
        )
        if alone:
            return
        released = trigger_params("default", "large", "released")
        faint = PairUnderTest(under_test.pair, ImageDomain(released.operators), TopLabel())
        print("  with the published ranges of the operators:")
        search("dflare", released, faint, seeds)
        search_as_released(under_test.pair, seeds, "paper")
        for ablation in ("dflare_d", "dflare_r"):
            compare(ablation, params, under_test, seeds)
        few = SearchSeeds(seeds.items[:chased], seeds.numbers[:chased])
        print(f"  DiffChaser on {chased} of the seeds:")
        compare("diffchaser", params, under_test, few)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", default=list(SUBJECTS), metavar="under_test")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument(
        "--alone", action="store_true", help="Dflare without what it is compared to"
    )
    parser.add_argument("--chased", type=int, default=20, help="seeds for DiffChaser")
    arguments = parser.parse_args()
    for subject_name in arguments.subjects:
        run(subject_name, arguments.seeds, arguments.alone, arguments.chased)
