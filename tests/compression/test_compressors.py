"""Every compressor makes a smaller model that still works."""

import json
import subprocess
import sys
import zipfile
import zlib

import keras
import pytest

from asterism.compression.methods import COMPRESSORS, compress
from asterism.compression.params import CompressionParams
from asterism.core.messages.errors import UserError
from asterism.core.settings.machine import TRAINING_THREADS
from asterism.models.classifier import FileClassifier
from asterism.models.keras_models.reading import load_keras, save_keras
from asterism.models.training.image_classifier import train_classifier
from models.small_trainings import UNIT, classifier, digits
from set_options import section

TRAINING = {"optimizer": "adam", "learning_rate": 0.002, "batch_size": 32, "epochs": 1}
OPTIONS = {
    "litert_dynamic_range": {},
    "litert_float16": {},
    "litert_full_integer": {"calibration_images": 50},
    "onnx_dynamic": {},
    "onnx_static": {"calibration_images": 50},
    "keras_int8": {},
    "magnitude_pruning": {"sparsity": 0.6, "scope": "global", "tuning": TRAINING},
    "filter_pruning": {"share": 0.5, "tuning": TRAINING},
    "changed_weights": {"share": 0.3, "amount": 0.1},
    "convolution_pruning": {"convolution": 2, "sparsity": 0.5},
    "distillation": {
        "student": "lenet1",
        "temperature": 4.0,
        "alpha": 0.3,
        "training": TRAINING | {"epochs": 4},
    },
    "torch_dynamic_int8": {},
    "torch_weight_only": {"bits": 4},
    "torch_static_pt2e": {"calibration_images": 50},
    "torch_pruned": {"sparsity": 0.6, "scope": "layer", "tuning": TRAINING},
    "torch_distilled": {
        "student": "lenet1",
        "temperature": 4.0,
        "alpha": 0.3,
        "augment": False,
        "learning_rate_drops": [3],
        "training": TRAINING | {"epochs": 4},
    },
}
#: Methods whose models are as large as the original.
AS_LARGE = {"changed_weights"}
CONFIGURED = {c["method"]: c["options"] for c in section("compression").values()}
#: The fast set compresses a trained model by one method, and random weights by all.
SLOW = set(OPTIONS) - {"litert_dynamic_range"}
OPTIONS = CONFIGURED | OPTIONS


@pytest.fixture(scope="module")
def data():
    return digits(900, 200)


@pytest.fixture(scope="module")
def original(data, tmp_path_factory):
    model, history = train_classifier(classifier(TRAINING | {"epochs": 3}), UNIT, data, 0)
    assert history["accuracy"][-1] > 0.8
    path = tmp_path_factory.mktemp("original") / "model.keras"
    save_keras(model, path)
    return path


def marked(names):
    return [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in names]


def test_the_table_covers_every_compressor():
    assert set(OPTIONS) == set(COMPRESSORS)


@pytest.mark.parametrize("name", marked(sorted(OPTIONS)))
def test_a_compressed_model_is_smaller_works_and_is_the_same_each_time(
    name, data, original, tmp_path
):
    params = CompressionParams(method=name, options=OPTIONS[name])
    facts = compress(params, original, tmp_path / "a", data, UNIT, 0)
    assert name in AS_LARGE or facts["deflated_bytes"] < facts["original_deflated_bytes"]
    assert facts["accuracy"] > 0.75
    assert facts["agreement"] > 0.75
    assert json.loads((tmp_path / "a" / "summary.json").read_text()) == facts
    compressed = next((tmp_path / "a").glob("model.*"))
    known, found = (
        FileClassifier(path, UNIT).predict(data.test_images).argmax(1)
        for path in (original, compressed)
    )
    assert facts == {
        "method": name,
        "bytes": compressed.stat().st_size,
        "original_bytes": original.stat().st_size,
        "deflated_bytes": len(zlib.compress(compressed.read_bytes(), 9)),
        "original_deflated_bytes": len(zlib.compress(original.read_bytes(), 9)),
        "accuracy": (found == data.test_labels).mean(),
        "original_accuracy": (known == data.test_labels).mean(),
        "agreement": (known == found).mean(),
        "deviating_test_images": (known != found).sum(),
    }

    compress(params, original, tmp_path / "b", data, UNIT, 0)
    assert (tmp_path / "b" / compressed.name).read_bytes() == compressed.read_bytes()


@pytest.mark.parametrize(
    "name", [*marked(["filter_pruning", "magnitude_pruning"]), *marked(["distillation"])]
)
def test_models_inside_a_model_are_compressed_and_a_row_of_layers_teaches(
    name, data, original, tmp_path
):
    """Read from a file, a row of layers has never been called."""
    whole = load_keras(original)
    parts = whole.layers[1:] if name == "distillation" else [whole]
    save_keras(keras.Sequential([keras.Input(data.image_shape), *parts]), tmp_path / "m.keras")
    params = CompressionParams(method=name, options=OPTIONS[name])
    facts = compress(params, tmp_path / "m.keras", tmp_path / "m", data, UNIT, 0)
    assert facts["deflated_bytes"] < 0.8 * facts["original_deflated_bytes"]
    assert facts["accuracy"] > 0.75


def test_a_model_without_its_summary_is_not_left_behind(data, original, tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("asterism.compression.methods.FileClassifier", killed)
    params = CompressionParams(method="litert_dynamic_range", options={})
    with pytest.raises(KeyboardInterrupt):
        compress(params, original, tmp_path / "m", data, UNIT, 0)
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_the_threads_are_fixed_before_the_original_is_loaded(original, tmp_path):
    """As in a stage, the first thing that starts TensorFlow; a training would depend on them."""
    script = f"""
import pathlib, tensorflow
from asterism.compression.methods import compress
from asterism.compression.params import CompressionParams
from asterism.data import DataParams, load
from asterism.models.images_and_scores import PreprocessingParams
data = load(DataParams(name="digits", path="conf/no_file", train=20, test=10))
unit = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
params = CompressionParams(method="litert_dynamic_range", options={{}})
compress(params, pathlib.Path({str(original)!r}), pathlib.Path("m"), data, unit, 0)
print(tensorflow.config.threading.get_intra_op_parallelism_threads())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split()[-1] == str(TRAINING_THREADS)


def test_saved_models_hold_no_optimiser(original):
    with zipfile.ZipFile(original) as archive:
        weights = next(n for n in archive.namelist() if n.endswith(".weights.h5"))
        parameters = load_keras(original).count_params()
        assert len(archive.read(weights)) < 4 * parameters + 60_000


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("squeeze", {}, "no compressor is called 'squeeze'"),
        ("litert_full_integer", {}, "calibration_images is missing"),
        (
            "magnitude_pruning",
            OPTIONS["magnitude_pruning"] | {"sparsity": 1.5},
            "sparsity is 1.5",
        ),
        (
            "distillation",
            OPTIONS["distillation"] | {"student": "dave2"},
            r"student is 'dave2', which cannot be built for .* \(28, 28, 1\)",
        ),
    ],
)
def test_wrong_options_are_one_line(method, options, message, data, original, tmp_path):
    params = CompressionParams(method=method, options=options)
    with pytest.raises(UserError, match=message):
        compress(params, original, tmp_path / "m", data, UNIT, 0)
