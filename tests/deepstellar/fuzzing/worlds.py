"""A small network under test with its Markov chain and seeds, real but quick."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import AbstractionParams, FuzzParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.models.recurrent import RecurrentModel, open_rnn

CLASSES = 10


@dataclass(frozen=True)
class World:
    """Everything that a campaign needs."""

    network: RecurrentModel
    model: TraceModel
    seeds: SeedInputs


def write_network(path: Path) -> None:
    """A random LSTM whose last state a least-squares fit reads, as the pipeline would run it."""
    import keras

    from asterism.models.recurrent.onnx_engine import OnnxEngine
    from asterism.models.recurrent.opening import engine_for

    layers = keras.layers
    network = keras.Sequential(
        [keras.Input((8, 8)), layers.LSTM(24), layers.Dense(CLASSES, activation="softmax")]
    )
    rng = np.random.default_rng(3)
    recurrent = [rng.normal(0, 0.5, w.shape) for w in network.get_weights()[:3]]
    network.set_weights([*recurrent, np.zeros((24, CLASSES)), np.zeros(CLASSES)])
    images, labels = digits()
    last = RecurrentModel(engine_for(network, None)).run(images)[1][:, -1]
    known = np.column_stack([last, np.ones(len(last))])
    readout = 6 * np.linalg.lstsq(known, np.eye(CLASSES)[labels])[0]
    network.set_weights([*recurrent, readout[:-1], readout[-1]])
    engine = engine_for(network, None)
    assert isinstance(engine, OnnxEngine)
    path.write_bytes(engine.graph)


def load_world(path: Path) -> World:
    """The world around the network of :func:`write_network`."""
    network = open_rnn(path, None)
    images, labels = digits()
    probabilities, states = network.run(images)
    correct = np.flatnonzero(probabilities.argmax(axis=1) == labels)
    model = TraceModel.fit(
        states[correct],
        labels[correct],
        CLASSES,
        AbstractionParams(k=2, m=8, bits=8, n_step=2),
    )
    chosen = correct[:12]
    return World(network, model, SeedInputs(images[chosen], labels[chosen], chosen))


def digits() -> tuple[Any, Any]:
    """600 handwritten digits in their original size, and their classes."""
    bunch = load_digits()
    images = np.rint(bunch.images[:600] * (255 / 16)).astype(np.uint8)[..., np.newaxis]
    return images, bunch.target[:600].astype(np.int64)


def params(**changes: Any) -> FuzzParams:
    """Parameters of a short campaign."""
    values: dict[str, Any] = {
        "criteria": ["state"],
        "mutants": 1500,
        "parents": 32,
        "mutants_per_parent": 4,
        "islands": 1,
        "attempts": 4,
        "l0_share": 0.05,
        "linf_share": 0.3,
        "selection": {"name": "probability", "options": {}},
        "mutators": {
            "translation": {"low": -1, "high": 1},
            "rotation": {},
            "contrast": {},
            "median_blur": {"sizes": [3]},
            "pixel_change": {"high": 3},
            "gaussian_noise": {},
        },
        "weights": {"median_blur": 0.5},
    }
    return FuzzParams.model_validate(values | changes)
