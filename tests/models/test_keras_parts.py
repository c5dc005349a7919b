"""Parts that handle Keras and PyTorch models: architectures, augmentation, exports, runtimes."""

import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import torch

from asterism.models.architectures import build_architecture
from asterism.models.formats import keras as keras_export
from asterism.models.formats.torch_export import TorchRuntime
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.training.image_classifier import _augmented


def test_a_plain_cnn_has_two_blocks_and_a_hidden_layer():
    model = build_architecture("plain_cnn", (12, 8, 3), 5, key="classifier.architecture")
    shapes = [tuple(w.shape) for w in model.weights if len(w.shape) > 1]
    assert shapes == [
        (3, 3, 3, 32),
        (3, 3, 32, 32),
        (3, 3, 32, 64),
        (3, 3, 64, 64),
        (3 * 2 * 64, 128),
        (128, 5),
    ]
    names = [layer.name for layer in model.layers]
    assert names[:4] == ["images", "block1_conv1", "block1_conv2", "block1_pool"]
    assert names[4:7] == ["block2_conv1", "block2_conv2", "block2_pool"]
    assert names[7:] == ["flatten", "dense", "before_softmax", "predictions"]
    rows = np.asarray(model(np.random.default_rng(0).random((2, 12, 8, 3), np.float32)))
    assert rows.sum(axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_augmentation_shifts_and_mirrors_in_training_alone():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((16, 16, 1))
    model = keras.Model(inputs, keras.layers.Rescaling(1.0)(inputs), name="same")
    augmented = _augmented(model)
    assert augmented.name == "same"
    assert augmented.layers[-1] is model
    image = np.zeros((16, 16, 1), np.float32)
    image[6:9, 4:6] = 1  # left of the middle
    images = np.repeat(image[np.newaxis], 300, axis=0)
    assert np.array_equal(np.asarray(augmented(images, training=False)), images)
    seen = np.asarray(augmented(images, training=True))
    there = seen.sum(axis=(1, 2, 3))
    rows = (seen.sum(axis=(2, 3)) * np.arange(16)).sum(axis=1) / there - 7
    columns = (seen.sum(axis=(1, 3)) * np.arange(16)).sum(axis=1) / there - 7.5
    assert np.abs(rows).max() <= 2.01  # an eighth of 16
    assert np.abs(rows).max() > 1.5
    assert 0.3 < (columns > 0).mean() < 0.7
    assert np.abs(np.abs(columns) - 3).max() <= 2.01
    assert np.abs(np.abs(columns) - 3).max() > 1.5


@pytest.mark.parametrize(
    ("inputs", "outputs", "is_exported"),
    [
        ([(8, 8, 3)], [(2,)], True),
        ([(3, 8, 8)], [(2,)], True),
        ([(8, 8, 4)], [(2,)], False),
        ([(None, 8, 3)], [(2,)], False),
        ([(8, 8)], [(2,)], False),
        ([(8, 8, 3)], [(2, 2)], False),
        ([(8, 8, 3)], [(2,), (2,)], False),
        ([(8, 8, 3), (8, 8, 3)], [(2,)], False),
    ],
)
def test_classifiers_of_images_are_exported(tmp_path, monkeypatch, inputs, outputs, is_exported):
    model = SimpleNamespace(
        name="model",
        inputs=[SimpleNamespace(shape=(None, *shape)) for shape in inputs],
        outputs=[SimpleNamespace(shape=(None, *shape)) for shape in outputs],
    )
    path, exported = tmp_path / "m.keras", []
    path.touch()
    monkeypatch.setattr(keras_export, "load_keras", lambda _: model)
    monkeypatch.setattr(keras_export, "save_onnx", lambda *given: exported.append(given) or 1 / 0)
    assert keras_export.faithful_export(path) is None
    assert len(exported) == is_exported


@pytest.mark.parametrize("kind", [tuple, list])
def test_outputs_of_pytorch_are_given_by_name(kind):
    """The runtime without a file: exporting a program takes seconds."""

    def module(batch):
        assert batch.stride() == (60, 20, 5, 1), "not of channels last"
        assert torch.is_inference_mode_enabled()
        sums = batch.double().sum(dim=(2, 3))
        return kind([sums, None, (-sums).bfloat16()])

    spec = TensorSpec("images", "float32", (None, 3, 4, 5))
    outputs = tuple(TensorSpec(name, "float32", (None, 3)) for name in ("sums", "others"))
    runtime = TorchRuntime(module, Signature("torch", (spec,), outputs))
    batch = np.random.default_rng(0).random((2, 4, 5, 3), np.float32)
    found = runtime.run({"images": batch.transpose(0, 3, 1, 2)})
    assert list(found) == ["sums", "others"]
    assert found["sums"] == pytest.approx(batch.sum(axis=(1, 2)), rel=1e-5)
    assert found["others"] == pytest.approx(-batch.sum(axis=(1, 2)), rel=1e-2)


DIGITS = (28, 28, 1)


def made(name, shape, outputs):
    return build_architecture(name, shape, outputs, key="classifier.architecture")


def neurons(model):
    """As DeepXplore counts them: a filter is one, in the layer and where it is pooled."""
    counted = [layer for layer in model.layers if layer.name not in ("images", "flatten")]
    return sum(layer.output.shape[-1] for layer in counted)


@pytest.mark.parametrize(("name", "published"), [("lenet1", 52), ("lenet4", 148), ("lenet5", 268)])
def test_lenets_have_the_neurons_of_deepxplores_table_1(name, published):
    """Pei, Cao, Yang and Jana, SOSP 2017."""
    assert neurons(made(name, DIGITS, 10)) == published


def test_dave_2_has_the_neurons_of_deepxplores_table_1():
    """Which leaves out the one output."""
    model = made("dave2", (100, 100, 3), 1)
    assert neurons(model) - 1 == 1560


@pytest.mark.parametrize(
    ("name", "filters", "dense"),
    [
        ("lenet1", (4, 12), ()),
        ("lenet4", (6, 16), (84,)),
        ("lenet5", (6, 16), (120, 84)),
    ],
)
@pytest.mark.parametrize(("height", "width", "channels"), [DIGITS, (32, 20, 3)])
def test_lenets_have_as_many_weights_as_their_layers_say(
    name, filters, dense, height, width, channels
):
    """Convolutions of 5×5, each halved by its pooling; every filter and unit has a bias."""
    expected, read = 0, channels
    for count in filters:
        expected += (5 * 5 * read + 1) * count
        read = count
    read *= height // 4 * (width // 4)
    for units in (*dense, 10):
        expected += (read + 1) * units
        read = units
    assert made(name, (height, width, channels), 10).count_params() == expected


@pytest.mark.parametrize("name", ["resnet20", "plainnet20"])
def test_networks_of_20_layers_have_270_thousand_weights(name):
    """He, Zhang, Ren and Sun, CVPR 2016, table 6: 0.27 million on images of 32×32."""
    model = made(name, (32, 32, 3), 10)
    assert round(model.count_params() / 1e6, 2) == 0.27
    kernels = [w for w in model.weights if w.path.endswith("kernel")]
    assert sum(1 for w in kernels if tuple(w.shape)[:2] != (1, 1)) == 20


def test_vgg_16_has_the_convolutions_of_configuration_d():
    """Simonyan and Zisserman, ICLR 2015, table 1."""
    rows = [64] * 2 + [128] * 2 + [256] * 3 + [512] * 6
    model = made("vgg16", (32, 32, 3), 10)
    kernels = [tuple(w.shape) for w in model.weights if len(w.shape) == 4]
    assert kernels == [(3, 3, *pair) for pair in zip([3, *rows], rows, strict=False)]
    assert sum(map(math.prod, kernels)) == 14_710_464
