"""What each compressor changes in a small network of random weights, quickly."""

import logging
from functools import cache

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
import torch
from structlog.testing import capture_logs

from asterism.compression.methods import COMPRESSORS, TrainingData, method_options
from asterism.compression.methods.keras import _with_logits
from asterism.compression.params import CompressionParams
from asterism.core.messages.errors import UserError
from asterism.models.classifier import FileClassifier
from asterism.models.keras_models.reading import load_keras
from models.small_trainings import UNIT
from thinning import every

L = keras.layers
TUNING = {"optimizer": "sgd", "learning_rate": 1e-9, "batch_size": 20, "epochs": 1}
LEARNING = TUNING | {"learning_rate": 0.5}
CLASSES = 5


def network():
    keras.utils.set_random_seed(4)
    return keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            L.Conv2D(8, 3, activation="relu", name="conv"),
            L.MaxPooling2D(2),
            L.Flatten(),
            L.Dense(24, activation="relu", name="hidden"),
            L.Dense(CLASSES, activation="softmax", name="scores"),
        ]
    )


def images(count=60, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 12, 12, 1), np.uint8)


def compressed(name, options, folder, model=None):
    """The file that a method makes of the small network."""
    model = network() if model is None else model
    labels = np.arange(60) % CLASSES
    method = COMPRESSORS[name]
    params = CompressionParams(method=name, options=options)
    target = folder / f"{name}{method.suffix}"
    method.compress(
        model, method_options(params), TrainingData(UNIT.apply(images()), labels, 0), target
    )
    return target


def dtypes_of_tflite(path):
    details = tf.lite.Interpreter(str(path)).get_tensor_details()
    return [(np.dtype(d["dtype"]).name, int(np.prod(d["shape"]))) for d in details]


def dtypes_of_onnx(path):
    graph = onnx.load(path).graph
    names = {v: k for k, v in onnx.TensorProto.DataType.items()}
    return [(names[i.data_type], int(np.prod(i.dims))) for i in graph.initializer]


def dtypes_of_program(path):
    state = torch.export.load(path).state_dict
    return [(str(t.dtype).removeprefix("torch."), t.numel()) for t in state.values()]


def largest(numbers):
    """The type of the largest array: the weights of the hidden layer."""
    return max(numbers, key=lambda n: n[1])[0]


QUANTISED = {
    "litert_dynamic_range": ({}, dtypes_of_tflite, "int8"),
    "litert_float16": ({}, dtypes_of_tflite, "float16"),
    "litert_full_integer": ({"calibration_images": 20}, dtypes_of_tflite, "int8"),
    "onnx_dynamic": ({}, dtypes_of_onnx, "UINT8"),
    "onnx_static": ({"calibration_images": 20}, dtypes_of_onnx, "INT8"),
    "torch_dynamic_int8": ({}, dtypes_of_program, "int8"),
    "torch_weight_only": ({"bits": 6}, dtypes_of_program, "int8"),
    "torch_static_pt2e": ({"calibration_images": 20}, dtypes_of_program, "int8"),
}


@cache
def exact():
    """What the small network gives for other images."""
    return np.asarray(network()(UNIT.apply(images(seed=1))))


@pytest.fixture(scope="module")
def quantised(tmp_path_factory):
    """Files of the small network that methods have quantised, each made once."""
    folder = tmp_path_factory.mktemp("quantised")
    return cache(lambda name: compressed(name, QUANTISED[name][0], folder))


@pytest.mark.parametrize("name", QUANTISED)
def test_weights_have_the_type_and_outputs_stay_close(name, quantised):
    _, read, expected = QUANTISED[name]
    level = logging.getLogger().level
    path = quantised(name)
    assert largest(read(path)) == expected
    assert logging.getLogger().level == level
    found = FileClassifier(path, UNIT).predict(images(seed=1))
    np.testing.assert_allclose(found, exact(), atol=2e-3 if name == "litert_float16" else 0.05)
    assert np.abs(found - exact()).max() > 1e-6


def test_only_full_integers_hold_activations_of_8_bits(quantised):
    activations = {}
    for name in ("litert_dynamic_range", "litert_full_integer"):
        dtypes = dtypes_of_tflite(quantised(name))
        activations[name] = {d for d, size in dtypes if size == 10 * 10 * 8}
    assert activations == {"litert_dynamic_range": {"float32"}, "litert_full_integer": {"int8"}}


def scales_of_tflite(path):
    details = tf.lite.Interpreter(str(path)).get_tensor_details()
    return sorted(tuple(d["quantization_parameters"]["scales"].tolist()) for d in details)


@pytest.mark.parametrize(
    ("name", "read"),
    every(
        2,
        [
            ("onnx_static", lambda path: path.read_bytes()),
            ("litert_full_integer", scales_of_tflite),
        ],
    ),
)
def test_ranges_are_measured_on_so_many_of_the_first_images(name, read, tmp_path, monkeypatch):
    few = read(compressed(name, {"calibration_images": 3}, tmp_path))
    others = images()
    others[3:] = 255
    monkeypatch.setitem(globals(), "images", lambda: others)
    assert read(compressed(name, {"calibration_images": 3}, tmp_path)) == few
    assert read(compressed(name, {"calibration_images": 4}, tmp_path)) != few


def test_the_quantiser_s_advice_is_not_logged(tmp_path, caplog):
    logging.getLogger().setLevel(logging.INFO)
    compressed("onnx_static", {"calibration_images": 3}, tmp_path)
    assert [r.message for r in caplog.records if "quant" in r.message.lower()] == []
    assert logging.getLogger().level == logging.INFO


def test_keras_own_quantisation_keeps_8_bits(tmp_path):
    path = compressed("keras_int8", {}, tmp_path)
    read = load_keras(path)
    assert str(read.get_layer("hidden")._kernel.dtype) == "int8"
    found = FileClassifier(path, UNIT).predict(images(seed=1))
    np.testing.assert_allclose(found, exact(), atol=0.05)


def kernels(model):
    return {la.name: np.asarray(la.kernel) for la in model.layers if hasattr(la, "kernel")}


@pytest.mark.parametrize("scope", ["global", "layer"])
@pytest.mark.parametrize("sparsity", every(3, [0.3, 0.0, 0.75]))
def test_the_smallest_weights_become_zero_and_stay_it(scope, sparsity, tmp_path):
    options = {"sparsity": sparsity, "scope": scope, "tuning": LEARNING}
    found = kernels(load_keras(compressed("magnitude_pruning", options, tmp_path)))
    before = kernels(network())
    everything = np.sort(np.abs(np.concatenate([k.ravel() for k in before.values()])))
    for name, kernel in before.items():
        among = everything if scope == "global" else np.sort(np.abs(kernel).ravel())
        goes = np.abs(kernel) <= (among[: int(sparsity * among.size)].max(initial=-1))
        assert np.array_equal(found[name] == 0, goes)
        assert not np.array_equal(found[name][~goes], kernel[~goes]), "the others were tuned"


def test_a_share_of_the_weights_changes_by_the_amount_and_a_larger_share_changes_them_too(
    tmp_path,
):
    def weights(model):
        return np.concatenate([w.ravel() for w in model.get_weights()])

    before, factors = weights(network()), {}
    for share in (0.1, 0.5):
        path = compressed("changed_weights", {"share": share, "amount": 0.1}, tmp_path)
        whole = before != 0
        factor = weights(load_keras(path))[whole] / before[whole]
        changed = np.abs(factor - 1) > 1e-3
        assert changed.mean() == pytest.approx(share, abs=0.05)
        np.testing.assert_allclose(np.abs(factor[changed] - 1), 0.1, atol=1e-5)
        assert (factor[changed] > 1).mean() == pytest.approx(0.5, abs=0.1)
        factors[share] = np.where(changed, factor, 1)
    few, many = factors[0.1], factors[0.5]
    np.testing.assert_allclose(many[few != 1], few[few != 1], atol=1e-5)


def two_convolutions():
    keras.utils.set_random_seed(4)
    layers = [
        keras.Input((12, 12, 1)),
        L.Conv2D(4, 3, name="one"),
        L.Conv2D(6, 3, name="two"),
        L.GlobalMaxPooling2D(),
        L.Dense(CLASSES, activation="softmax", name="scores"),
    ]
    return keras.Sequential(layers)


@pytest.mark.parametrize(("convolution", "name"), [(1, "one"), (2, "two")])
def test_one_convolution_alone_is_pruned(convolution, name, tmp_path):
    options = {"convolution": convolution, "sparsity": 0.25}
    path = compressed("convolution_pruning", options, tmp_path, two_convolutions())
    found, before = kernels(load_keras(path)), kernels(two_convolutions())
    for other in found.keys() - {name}:
        assert np.array_equal(found[other], before[other])
    magnitudes = np.abs(before[name])
    goes = magnitudes <= np.sort(magnitudes.ravel())[int(0.25 * magnitudes.size) - 1]
    assert np.array_equal(found[name], np.where(goes, 0, before[name]))
    assert goes.sum() == int(0.25 * magnitudes.size)


def test_a_convolution_that_the_network_does_not_have_is_told(tmp_path):
    told = "options.convolution is 3, and the network has 2 convolutions"
    with pytest.raises(UserError, match=told):
        compressed(
            "convolution_pruning", {"convolution": 3, "sparsity": 0.5}, tmp_path, two_convolutions()
        )


def test_the_faintest_filters_go_and_the_rest_is_tuned(tmp_path):
    for tuning, moved in ((TUNING, False), (LEARNING, True)):
        path = compressed("filter_pruning", {"share": 0.4, "tuning": tuning}, tmp_path)
        found, before = kernels(load_keras(path))["conv"], kernels(network())["conv"]
        norms = np.abs(before).sum(axis=(0, 1, 2))
        kept = sorted(np.argsort(norms)[3:])  # 0.4 of 8, rounded down, go
        assert found.shape == (3, 3, 1, 5)
        assert np.allclose(found, before[..., kept], atol=1e-6) != moved


def test_filter_pruning_that_removes_nothing_says_so(tmp_path):
    x = inputs = keras.Input((12, 12, 1))
    x = L.Flatten()(keras.ops.relu(L.Conv2D(2, 9, 4, name="first")(x)))
    model = keras.Model(inputs, L.Dense(CLASSES, "softmax")(x))
    with capture_logs() as told:
        compressed("filter_pruning", {"share": 0.5, "tuning": TUNING}, tmp_path, model)
    assert any("no filter was removed" in e["event"] for e in told if e["log_level"] == "warning")
    assert [e["kept_whole"] for e in told if "kept_whole" in e] == [["first"]]


@pytest.mark.slow
def test_a_student_learns_from_its_teacher(tmp_path):
    big = np.random.default_rng(0).integers(0, 256, (40, 28, 28, 1), np.uint8)
    keras.utils.set_random_seed(0)
    teacher = keras.Sequential(
        [keras.Input((28, 28, 1)), L.AveragePooling2D(4), L.Flatten(), L.Dense(3, "softmax")]
    )
    training = TUNING | {"optimizer": "adam", "learning_rate": 0.01, "epochs": 12}
    away = []
    for alpha in (0.0, 1.0):
        options = {"student": "lenet1", "temperature": 2.0, "alpha": alpha, "training": training}
        params = CompressionParams(method="distillation", options=options)
        target = tmp_path / f"{alpha}.keras"
        labels = np.zeros(40, np.int64)  # which the teacher does not give
        COMPRESSORS["distillation"].compress(
            teacher, method_options(params), TrainingData(UNIT.apply(big), labels, 0), target
        )
        outputs = load_keras(target).predict(UNIT.apply(big), verbose=0)
        assert outputs.shape == (40, 3)
        away.append(np.abs(outputs - teacher.predict(UNIT.apply(big), verbose=0)).mean())
    assert outputs[:, 0].min() > 0.9, "of the labels alone it learns the labels"
    assert away[0] < 0.5 * away[1]


def test_logits_are_those_of_the_same_softmax():
    model, x = network(), UNIT.apply(images())
    logits = _with_logits(model).predict(x, verbose=0)
    exact = model.predict(x, verbose=0)
    np.testing.assert_allclose(logits, np.log(exact), rtol=1e-5)
