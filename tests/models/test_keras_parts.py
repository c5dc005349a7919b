"""Parts that handle Keras and PyTorch models: architectures, augmentation, exports, runtimes."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import torch

from asterism.models.architectures import build_architecture
from asterism.models.runtimes.formats import keras as keras_export
from asterism.models.runtimes.formats.torch_export import TorchRuntime
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
