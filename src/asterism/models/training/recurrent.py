"""Recurrent classifiers over the rows of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.data import Dataset
from asterism.models.params import TrainedRnn
from asterism.models.recurrent import RecurrentModel
from asterism.models.recurrent.model import WHITE
from asterism.models.training.fitting import compile_for, fit_model, make_deterministic

if TYPE_CHECKING:
    import keras


def rows_as_steps(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Images ``(N, H, W, C)`` as sequences ``(N, H, W * C)`` in [0, 1]: a row is a time step."""
    count, height, width, channels = images.shape
    return images.reshape(count, height, width * channels).astype(np.float32) / WHITE


def build_rnn(params: TrainedRnn, shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Recurrent layers, then softmax: with one LSTM of 128 units the published network.

    Args:
        params: kind of cell and units of each layer.
        shape: ``(H, W, C)`` of an image.
        classes: number of outputs.
    """
    import keras

    cells = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}
    layer = cells.get(params.cell, keras.layers.SimpleRNN)
    height, width, channels = shape
    last = len(params.units) - 1
    return keras.Sequential(
        [
            keras.Input((height, width * channels), name="rows"),
            *(
                layer(units, return_sequences=i < last, name=f"{params.cell}_{i + 1}")
                for i, units in enumerate(params.units)
            ),
            keras.layers.Dense(classes, activation="softmax", name="probabilities"),
        ],
        name="rnn",
    )


def train_rnn(params: TrainedRnn, data: Dataset, seed: int) -> tuple[keras.Model, list[float]]:
    """A trained network and its training accuracy after each epoch.

    Raises:
        UserError: the inputs are no images.
    """
    if data.kind != "images":
        raise UserError(
            f"rnn={params.cell} is trained on images, and the data are {data.kind}: give a network "
            "that takes these, -S rnn=file -S rnn.path=…"
        )
    # Steps of a small recurrent network are too short to share: one thread is the fastest.
    make_deterministic(seed, "train_rnn", threads=1)
    model = build_rnn(params, data.image_shape, data.classes)
    inputs, labels = rows_as_steps(data.train_images), data.train_labels
    if params.trained_by == "torch":
        from asterism.models.training.torch_fitting import train_by_torch

        history = train_by_torch(model, inputs, labels, params.training, seed)
    else:
        compile_for(model, params.training)
        history = fit_model(model, inputs, labels, params.training)
    return model, history["accuracy"]


def rnn_accuracy(
    model: RecurrentModel, inputs: NDArray[Any], labels: NDArray[np.int64], batch: int = 512
) -> float:
    """Share of inputs ``(N, ...)`` that the network puts into their class."""
    starts = range(0, len(inputs), batch)
    correct = sum(
        int((model.run(inputs[s : s + batch])[0].argmax(axis=1) == labels[s : s + batch]).sum())
        for s in progress(starts, label="accuracy", unit="batch")
    )
    return correct / len(inputs)
