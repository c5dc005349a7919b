"""What Asterism does with a model's file beside opening it: each is given a path and a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asterism.asking.model_description import describe_model, examine_model, model_as_json
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.keras_network import KerasNetwork
from asterism.compression.methods import compress
from asterism.compression.params import CompressionParams
from asterism.data import Dataset
from asterism.deepimportance.fitting import fit_criteria
from asterism.deepimportance.heatmaps import compute_heatmaps
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.measurement import save_fitted
from asterism.differential.reducing.reduce import reduce_model, renumber_nodes
from asterism.differential.reducing.reduction import read_user_model
from asterism.differential.subjects.onnx_file import read_subject
from asterism.localisation.conversion import as_onnx, convert
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs
from asterism.memo.graphs.keras_build import build_model
from asterism.models.formats import open_runtime
from asterism.models.formats.keras import KerasRuntime
from asterism.models.keras_models.layers import cut_softmax
from asterism.models.keras_models.limits import read_whole_file
from asterism.models.keras_models.reading import load_keras, save_keras
from asterism.models.params import ClassifierFile
from asterism.models.recurrent.keras_engine import KerasEngine, find_layer
from asterism.models.signatures.reading import read_signature
from asterism.models.training.image_classifier import obtain_classifier
from readers.of_models import (
    UNIT,
    run_classifier,
    run_in_library,
    run_isolated,
    run_rnn,
    served_signature,
)

Consumer = Callable[[Path, Path], object]


def _of_a_path(read: Callable[[Path], object]) -> Consumer:
    def consumer(path: Path, _folder: Path) -> object:
        return read(path)

    consumer.__name__ = read.__name__
    return consumer


def run_on_zeros(path: Path) -> None:
    """Open a model file as a stage does, and run it once."""
    opened = open_runtime(path)
    specs = opened.signature.inputs
    opened.run({s.name: np.zeros([size or 1 for size in s.shape], s.dtype) for s in specs})


def run_in_keras(path: Path) -> None:
    runtime = KerasRuntime(load_keras(path))
    runtime.run({s.name: np.zeros((32, 8, 8, 1), s.dtype) for s in runtime.signature.inputs})


def check(path: Path) -> None:
    """``asterism check``."""
    looked = examine_model(path)
    describe_model(looked), model_as_json(looked)


def localise(path: Path, folder: Path) -> None:
    """The conversion to ONNX, and what is to blame in the pair."""
    convert(path, folder / "converted.onnx")
    match_nodes(open_graphs(folder / "converted.onnx", folder / "converted.onnx"))


def pair(path: Path) -> None:
    open_graphs(path, path)


def _pictures() -> Dataset:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (60, 8, 8, 1), np.uint8), np.arange(60) % 3
    return Dataset(images, labels, images[:30], labels[:30], 3)


_TUNING = {"optimizer": "sgd", "learning_rate": 1e-9, "batch_size": 20, "epochs": 1}
#: Options of the compression methods.
METHODS: dict[str, dict[str, Any]] = {
    "changed_weights": {"share": 0.5, "amount": 0.1},
    "convolution_pruning": {"convolution": 1, "sparsity": 0.25},
    "distillation": {"student": "plain_cnn", "temperature": 2.0, "alpha": 0.5, "training": _TUNING},
    "filter_pruning": {"share": 0.5, "tuning": _TUNING},
    "keras_int8": {},
    "litert_dynamic_range": {},
    "litert_float16": {},
    "litert_full_integer": {"calibration_images": 3},
    "magnitude_pruning": {"sparsity": 0.5, "scope": "global", "tuning": _TUNING},
    "onnx_dynamic": {},
    "onnx_static": {"calibration_images": 3},
}


def _compression(method: str) -> Consumer:
    def consumer(path: Path, folder: Path) -> None:
        params = CompressionParams(method=method, options=METHODS[method])
        compress(params, path, folder / "compressed", _pictures(), UNIT, 0)

    consumer.__name__ = method
    return consumer


def attack(path: Path) -> None:
    """What attacks ask of a classifier."""
    estimator = PixelEstimator(KerasNetwork(cut_softmax(load_keras(path)), UNIT))
    images, labels = np.zeros((2, 8, 8, 1), np.float32), np.array([0, 1])
    estimator.class_gradient(images, labels)
    estimator.loss_gradient(images, np.eye(3, dtype=np.float32)[:2])
    estimator.lead(images, labels, np.ones(2, np.float32), 0.1)


def adequacy(path: Path, folder: Path) -> None:
    """Coverage by importance and other criteria, and heatmaps."""
    from deepimportance.test_coverage import CRITERIA, RULES, UNIT, importance

    model, data = load_keras(path), _pictures()
    labels = model.predict(UNIT.apply(data.train_images), verbose=0).argmax(1)
    judged = JudgedKeras(model, UNIT)
    fitted = fit_criteria(judged, data.train_images, labels, importance(neurons=[2]), CRITERIA)
    save_fitted(fitted, folder)
    compute_heatmaps(judged, RULES, data.test_images, data.test_labels)


def obtain(path: Path, folder: Path) -> None:
    """The user's classifier as a stage takes and saves it."""
    params = ClassifierFile(source="file", path=str(path), weights=str(path))
    model, _ = obtain_classifier(params, UNIT, _pictures(), 0)
    save_keras(model, folder / "obtained.keras")
    load_keras(folder / "obtained.keras")


def rebuild(path: Path) -> None:
    """The user's network in the libraries' lane, reduced and built anew."""
    _, graph, arrays = read_user_model(path, {}, 16, 0)
    build_model(renumber_nodes(reduce_model(graph)), arrays)


def run_in_keras_engine(path: Path) -> None:
    """A recurrent network by Keras, instead of its ONNX graph."""
    model = load_keras(path)
    KerasEngine(model, find_layer(model, None))


def run_in(name: str) -> Consumer:
    """A file in a library that runs ONNX in this process: whole, of fixed sizes, and a part."""

    def run(path: Path, folder: Path) -> None:
        subject = read_subject(path, 4, {})
        inputs = subject.draw(0, "normal")
        for number, part in enumerate((subject, subject.fixed(inputs), subject.exposing()[0])):
            (folder / str(number)).mkdir(exist_ok=True)
            run_in_library(name, part.content, inputs, folder / str(number))

    run.__name__ = f"run_in_{name}"
    return run


def convert_apart(path: Path, folder: Path) -> None:
    as_onnx(path, folder)


signature_apart, check_apart, run_apart = map(_of_a_path, (read_signature, check, run_isolated))
#: Consumers that work in processes of their own.
APART = (signature_apart, check_apart, run_apart, convert_apart)
signature, read_whole = map(_of_a_path, (served_signature, read_whole_file))
#: Consumers that read no more of a Keras file than its configuration, or read it to its end only.
OF_CONFIGURATION = (signature, signature_apart, check_apart, read_whole)
OF_ALL = (signature, _of_a_path(run_on_zeros), signature_apart, check_apart, localise)
OF_IMAGES = (_of_a_path(run_classifier), run_apart, convert_apart)
OF_KERAS = (
    *OF_ALL,
    *OF_IMAGES,
    read_whole,
    *map(_of_a_path, (run_in_keras, attack, rebuild)),
    adequacy,
    obtain,
    *map(_compression, METHODS),
)
OF_SEQUENCES = tuple(map(_of_a_path, (run_rnn, run_in_keras_engine)))
OF_ONNX = (
    *map(_of_a_path, (read_signature, open_runtime, run_classifier, run_rnn, pair)),
    *map(run_in, ("onnx2torch", "onnx2pytorch", "openvino", "onnxruntime", "onnx_reference")),
)
