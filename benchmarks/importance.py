"""The importance lane's speed: LeNet-5 on MNIST, 10,000 training and 10,000 test inputs.

    ASTERISM_DATA_ROOT=/path/to/data PYTHONPATH=src python benchmarks/importance.py

Every figure is the best of several runs on a warm process and stands beside a plain forward pass
of the same 10,000 inputs in the same batches.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
import yaml

from asterism.core import machine
from asterism.core.params import validate
from asterism.criteria.criterion import CRITERIA
from asterism.criteria.params import CriteriaParams
from asterism.criteria.tracing import BATCH, Tracer, hidden_layers, model_input
from asterism.data import DataParams, load
from asterism.deepimportance.clusters import fit_clusters
from asterism.deepimportance.composites import COMPOSITES
from asterism.deepimportance.coverage import ImportanceDrivenCoverage
from asterism.deepimportance.neurons import neuron_relevance, propagator
from asterism.deepimportance.params import ImportanceParams
from asterism.models.architectures import ARCHITECTURES
from asterism.models.preprocessing import PreprocessingParams

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
SUBJECT = "dense2"


def section(schema, group):
    text = Path(f"conf/{group}/default.yaml").read_text(encoding="utf-8")
    return validate(schema, yaml.safe_load(text))


def best(run, times=3):
    run()
    return min(timed(run) for _ in range(times))


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_memory(inputs):
    """Peak memory of a process that measures the IDC of so many inputs, in MB."""
    command = [sys.executable, __file__, "--memory", str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def measure_memory(inputs):
    """IDC of a stream of inputs that is never held as a whole."""
    model = ARCHITECTURES["lenet5"]((28, 28, 1), 10)
    tracer = Tracer(model, UNIT, SUBJECT, [])
    rng = np.random.default_rng(0)
    first = tracer(rng.integers(0, 256, (BATCH, 28, 28, 1), np.uint8)).layers[SUBJECT][:, :10]
    coverage = ImportanceDrivenCoverage(
        fit_clusters(first, section(ImportanceParams, "importance").clusters, dense=True)
    )
    for _ in range(inputs // BATCH):
        batch = tracer(rng.integers(0, 256, (BATCH, 28, 28, 1), np.uint8))
        coverage.update(batch.layers[SUBJECT][:, :10])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def main():
    importance = section(ImportanceParams, "importance")
    criteria = section(CriteriaParams, "criteria")
    data = load(DataParams(name="mnist", path="conf/no_file", train=60000, test=10000))
    keras.utils.set_random_seed(0)
    model = ARCHITECTURES["lenet5"](data.image_shape, data.classes)
    model.compile("adam", "sparse_categorical_crossentropy")
    train, labels = data.train_images[:10000], data.train_labels[:10000]
    model.fit(UNIT.apply(train), labels, batch_size=64, epochs=3, verbose=0)

    signature = [tf.TensorSpec((None, 28, 28, 1), tf.float32)]
    call = tf.function(lambda x: model(x, training=False), signature)

    def forward(images=train):
        for i in range(0, len(images), BATCH):
            call(model_input(images[i : i + BATCH], UNIT)).numpy()

    plain = best(forward)
    print(f"{machine.available_threads()} processors, batches of {BATCH}")
    print(f"{'plain forward pass, 10,000 inputs':58}{plain:8.3f} s")

    def report(what, seconds, passes=True):
        share = f"{seconds / plain:6.2f} forward passes" if passes else ""
        print(f"{what:58}{seconds:8.3f} s {share}", flush=True)

    for name in COMPOSITES.names():
        rules = importance.relevance.model_copy(update={"composite": name})
        for layer in (SUBJECT, None):
            propagate = propagator(model, UNIT, rules, layer)

            def relevance(propagate=propagate):
                for i in range(0, len(train), BATCH):
                    propagate.per_neuron(model_input(train[i : i + BATCH], UNIT))

            at = "the input" if layer is None else layer
            report(f"relevance at {at}, {name}", best(relevance, 2))

    tracer = Tracer(model, UNIT, SUBJECT, hidden_layers(model))
    found = neuron_relevance(model, UNIT, importance.relevance, SUBJECT, train, labels)
    important = found.ranking()[:10]
    everything = np.concatenate(
        [batch.layers[SUBJECT][:, important] for batch in tracer.stream(data.train_images)]
    )
    clustering = best(lambda: fit_clusters(everything, importance.clusters, dense=True), 3)
    report("clustering 10 neurons over 60,000 activations", clustering, passes=False)
    dense = np.random.default_rng(0).gamma(2, size=everything.shape).astype(np.float32)
    clustering = best(lambda: fit_clusters(dense, importance.clusters, dense=True), 3)
    report("the same, 60,000 different values each", clustering, passes=False)

    clusters = fit_clusters(everything[:10000], importance.clusters, dense=True)
    narrow = Tracer(model, UNIT, SUBJECT, [])

    def idc():
        coverage = ImportanceDrivenCoverage(clusters)
        for batch in narrow.stream(data.test_images):
            coverage.update(batch.layers[SUBJECT][:, important])

    report("IDC of 10,000 inputs, with the forward pass", best(idc))
    trained = list(tracer.stream(train))
    tested = list(tracer.stream(data.test_images))
    for name in criteria.names:

        def fitted(name=name):
            criterion = CRITERIA[name](criteria)
            for batch in trained:
                criterion.fit(batch)
            return criterion

        def covered(criterion):
            for batch in tested:
                criterion.update(batch)
            return criterion.value()

        fit_time = timed(fitted)
        ready = fitted()
        update_time = timed(lambda ready=ready: covered(ready))
        report(f"{name}: fit {fit_time:.3f} s, then update and value", update_time)
    few, many = peak_memory(10_240), peak_memory(102_400)
    print(f"peak memory of IDC over a stream: 10,240 inputs {few} MB, 102,400 inputs {many} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        measure_memory(int(sys.argv[2]))
    else:
        main()
