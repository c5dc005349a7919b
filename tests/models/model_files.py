"""Small real models in every format."""

import warnings

import keras
import numpy as np
import torch

from asterism.models.formats.keras import save_onnx
from asterism.models.keras_models.reading import save_keras

SHAPE = (8, 8, 1)
CLASSES = 4


def keras_model(*, softmax=True, seed=0):
    keras.utils.set_random_seed(seed)
    x = inputs = keras.Input(SHAPE)
    x = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(CLASSES, kernel_initializer="he_normal")(x)
    return keras.Model(inputs, keras.layers.Softmax()(x) if softmax else x)


def torch_twin(model):
    """The same network in PyTorch, channels first."""

    class Twin(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
            self.dense = torch.nn.Linear(64, CLASSES)

        def forward(self, images):
            x = torch.max_pool2d(torch.relu(self.conv(images)), 2)
            x = x.permute(0, 2, 3, 1).flatten(1)
            return torch.softmax(self.dense(x), 1)

    twin = Twin().eval()
    kernel, bias, dense, last = (torch.tensor(np.asarray(w)) for w in model.get_weights())
    with torch.no_grad():
        twin.conv.weight.copy_(kernel.permute(3, 2, 0, 1))
        twin.conv.bias.copy_(bias)
        twin.dense.weight.copy_(dense.T)
        twin.dense.bias.copy_(last)
    return twin


def write(model, path):
    """The model in the format that the path's suffix names."""
    if path.suffix == ".keras":
        save_keras(model, path)
    elif path.suffix == ".h5":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save(path)
    elif path.suffix == ".onnx":
        save_onnx(model, path)
    elif path.suffix == ".tflite":
        model.export(path, format="litert", verbose=False)
    else:
        batch = torch.export.Dim("batch", min=1, max=4096)
        example = (torch.zeros(2, 1, 8, 8),)
        program = torch.export.export(torch_twin(model), example, dynamic_shapes=({0: batch},))
        torch.export.save(program, path)
    return path


def images(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *SHAPE), dtype=np.uint8)
