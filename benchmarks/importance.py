"""The importance lane's speed: LeNet-5 on MNIST, 10,000 training and 10,000 test inputs.

    ASTERISM_DATA_ROOT=/path/to/data PYTHONPATH=src python benchmarks/importance.py [PART…]

The parts are relevance, clusters, criteria and memory. Every time is the best of several runs on
a warm process and stands beside a plain forward pass of 10,000 inputs in the same batches.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
import yaml

from asterism.core.parameters.params import validate
from asterism.core.settings import machine
from asterism.criteria.criterion import Activations, build_criteria
from asterism.criteria.params import CriteriaParams
from asterism.data import DataParams, load
from asterism.deepimportance.composite import COMPOSITES, composite_of
from asterism.deepimportance.coverage import ImportanceDrivenCoverage
from asterism.deepimportance.fitting import fit
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.measurement import measure
from asterism.deepimportance.neurons import neuron_relevance
from asterism.deepimportance.params import ImportanceParams
from asterism.deepimportance.tracing import BATCH, Tracer
from asterism.models.architectures import ARCHITECTURES
from asterism.models.keras_models.preprocessing import PreprocessingParams, model_input

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
SUBJECT = "dense2"


def section(schema, group):
    text = Path(f"conf/{group}/default.yaml").read_text(encoding="utf-8")
    return validate(schema, yaml.safe_load(text))


class Stopwatch:
    """Best times of several runs, each run between two of a plain forward pass.

    Both are taken in turns, so that whatever else the machine does at the time slows both.
    """

    def __init__(self, forward):
        self.forward = forward

    def report(self, what, run, times=3, target=None):
        run()
        self.forward()
        plain, took = np.inf, np.inf
        for _ in range(times):
            plain, took = min(plain, timed(self.forward)), min(took, timed(run))
        wanted = "" if target is None else f"  (to reach: {target})"
        print(f"{what:58}{took:8.3f} s {took / plain:7.2f} forward passes{wanted}", flush=True)


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class Endless:
    """Images that come into being when they are asked for, so that they take no memory."""

    dtype = np.dtype(np.uint8)

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, part):
        size = len(range(*part.indices(self.count)))
        rng = np.random.default_rng((self.seed, part.start))
        return rng.integers(0, 256, (size, 28, 28, 1), np.uint8)


def peak_memory(train, test, names):
    """Peak memory of a process that fits on and judges so many inputs, in MB."""
    command = [sys.executable, __file__, "--peak", str(train), str(test), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def measure_memory(train, test, names):
    """Relevance, clusters, IDC and some criteria over inputs that are never held as a whole."""
    model = ARCHITECTURES["lenet5"]((28, 28, 1), 10)
    criteria = section(CriteriaParams, "criteria").model_copy(update={"names": names})
    importance = section(ImportanceParams, "importance")
    labels = np.arange(train) % 10  # some of what an untrained model says is right
    training, tests, none = (cast(Any, Endless(n, seed)) for seed, n in enumerate((train, test, 0)))
    fitted = fit(JudgedKeras(model, UNIT), training, labels, importance, criteria)
    measure(fitted, tests, none, {})
    print(machine.peak_memory_mb())


def report_memory():
    names = section(CriteriaParams, "criteria").names
    quadratic = ["likelihood_surprise", "distance_surprise"]
    linear = [name for name in names if name not in quadratic]
    for what, chosen, sizes in (
        ("IDC and all but the surprise criteria", linear, (10_240, 102_400)),
        ("the surprise criteria", quadratic, (5_120, 20_480)),
    ):
        few, many = sizes
        for train, test in ((few, few), (many, few), (few, many)):
            peak = peak_memory(train, test, chosen)
            print(f"peak memory, {what}: {train:,} training, {test:,} test inputs {peak} MB")


class Subject:
    """LeNet-5 after an epoch on 10,000 images of MNIST, the images, and a plain forward pass."""

    def __init__(self):
        data = load(DataParams(name="mnist", path="conf/no_file", train=60000, test=10000))
        keras.utils.set_random_seed(0)
        self.model = ARCHITECTURES["lenet5"](data.image_shape, data.classes)
        self.model.compile("adam", "sparse_categorical_crossentropy")
        self.train, self.labels = data.train_images[:10000], data.train_labels[:10000]
        self.model.fit(UNIT.apply(self.train), self.labels, batch_size=64, epochs=1, verbose=0)
        self.all_train, self.test = data.train_images, data.test_images
        signature = [tf.TensorSpec((None, 28, 28, 1), tf.float32)]
        self.judged = JudgedKeras(self.model, UNIT)
        self._call = tf.function(lambda x: self.model(x, training=False), signature)
        self.watch = Stopwatch(self.forward)
        self.importance = section(ImportanceParams, "importance")
        self.criteria = section(CriteriaParams, "criteria")

    def forward(self):
        for i in range(0, len(self.train), BATCH):
            self._call(model_input(self.train[i : i + BATCH], UNIT)).numpy()

    def profiled(self, batches):
        """IDC of the ten most important neurons, fitted."""
        rules = self.importance.relevance
        found = neuron_relevance(self.judged, rules, SUBJECT, self.train, self.labels)
        coverage = ImportanceDrivenCoverage(
            found.ranking()[:10], self.importance.clusters, dense=True
        )
        for batch in batches:
            coverage.fit(batch)
        return coverage


def relevance(subject):
    for name in COMPOSITES.names():
        rules = subject.importance.relevance.model_copy(update={"composite": name})
        for layer in (SUBJECT, None):
            propagate = subject.judged.propagator(layer, composite_of(rules))

            def run(propagate=propagate):
                for i in range(0, len(subject.train), BATCH):
                    propagate.per_neuron(model_input(subject.train[i : i + BATCH], UNIT))

            at = "the input" if layer is None else layer
            subject.watch.report(f"relevance at {at}, {name}", run, 2, "6 passes")


def clusters(subject):
    tracer = Tracer(subject.judged, SUBJECT, [])
    real = np.concatenate([batch.subject for batch in tracer.stream(subject.all_train)])
    different = np.random.default_rng(0).gamma(2, size=real.shape).astype(np.float32)
    for what, values in (("of MNIST", real), ("all of them different", different)):

        def run(values=values):
            idc = ImportanceDrivenCoverage(np.arange(10), subject.importance.clusters, dense=True)
            for i in range(0, len(values), BATCH):
                idc.fit(Activations({}, values[i : i + BATCH], None))
            return idc.clusters

        subject.watch.report(f"clustering 10 neurons, 60,000 values {what}", run, 3, "1 s")


def criteria(subject):
    narrow = Tracer(subject.judged, SUBJECT, [])
    ready = subject.profiled(narrow.stream(subject.train))
    print(f"{ready.combinations:,} combinations of 10 neurons")

    def idc():
        coverage = ready.fork()
        for batch in narrow.stream(subject.test):
            coverage.update(batch)

    subject.watch.report("IDC of 10,000 inputs, forward pass included", idc, 6, "1.2 passes")
    tracer = Tracer(subject.judged, SUBJECT, subject.judged.hidden_layers())
    trained, tested = (list(tracer.stream(x)) for x in (subject.train, subject.test))
    for name in subject.criteria.names:

        def fitted(name=name):
            criterion = build_criteria(subject.criteria)[name]
            for batch in trained:
                criterion.fit(batch)
            criterion.update(tested[0])  # what is only worked out when it is first asked for
            return criterion

        known = fitted()

        def judged(known=known):
            criterion = known.fork()
            for batch in tested:
                criterion.update(batch)
            return criterion.value()

        subject.watch.report(f"{name}, fit", fitted, 1)
        subject.watch.report(f"{name}, update and value", judged, 2)


PARTS = {"relevance": relevance, "clusters": clusters, "criteria": criteria}


def main(wanted):
    print(f"{machine.available_threads()} processors, batches of {BATCH}, 10,000 inputs")
    if set(wanted) & set(PARTS):
        subject = Subject()
        print(f"{'plain forward pass':58}{min(timed(subject.forward) for _ in range(5)):8.3f} s")
        for name in wanted:
            if name in PARTS:
                PARTS[name](subject)
    if "memory" in wanted:
        report_memory()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        measure_memory(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parts = [*PARTS, "memory"]
        parser.add_argument("parts", nargs="*", default=parts, choices=parts, metavar="part")
        main(parser.parse_args().parts)
