"""Training that gives the same weights every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import Bar, progress
from asterism.core.random_streams import spawn_integer
from asterism.core.settings import machine
from asterism.models.params import Optimizer, TrainingParams

if TYPE_CHECKING:
    import keras


def make_deterministic(
    seed: int, *path: str | int, threads: int = machine.TRAINING_THREADS
) -> None:
    """Fix everything that weights depend on; call it before the process builds a model.

    Seeds Keras, NumPy and Python, makes TensorFlow's kernels deterministic and fixes its
    thread count, since a convolution's gradient differs between counts.

    Args:
        seed: the run's seed.
        path: what is about to be trained, as in
            :func:`asterism.core.random_streams.stream`.
        threads: threads within an operation; the same on every machine.

    Raises:
        RuntimeError: TensorFlow runs already, with another number of threads.
    """
    import keras
    import tensorflow as tf

    _fix_threads(threads)
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(spawn_integer(seed, *path))


def _fix_threads(threads: int) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def compile_for(
    model: keras.Model,
    params: TrainingParams,
    loss: Any = "sparse_categorical_crossentropy",
    metrics: Sequence[str] = ("accuracy",),
) -> None:
    """Compile a model: unless told otherwise, a classifier with softmax outputs and integer labels.

    Args:
        model: gets the optimiser that the parameters name, at their learning rate.
        params: of the training.
        loss: a Keras loss, or its name.
        metrics: names of Keras metrics.
    """
    optimizer = _optimizer(params.optimizer)
    optimizer.learning_rate = params.learning_rate
    # Keras counts a process' optimisers in their names, which are written into the model's file.
    optimizer.name = params.optimizer
    model.compile(optimizer, loss=loss, metrics=list(metrics))


def _optimizer(name: Optimizer) -> keras.optimizers.Optimizer:
    import keras

    return _nesterov() if name == "nesterov_sgd" else keras.optimizers.get(name)


def _nesterov() -> keras.optimizers.Optimizer:
    """SGD as residual networks came with: Nesterov momentum of 0.9, and a penalty of 1e-4.

    A penalty's gradient, twice the weight, goes through the momentum, which adds ten of them up;
    Keras' weight decay does not.
    """
    import keras

    return keras.optimizers.SGD(momentum=0.9, nesterov=True, weight_decay=20 * 1e-4)


def dropped_rate(rate: float, drops: Sequence[int], epoch: int) -> float:
    """The learning rate in an epoch, where each of some epochs divides it by ten."""
    return rate * 0.1 ** sum(epoch >= drop for drop in drops)


def fit_model(
    model: keras.Model,
    inputs: NDArray[np.float32],
    labels: NDArray[np.int64],
    params: TrainingParams,
    **options: Any,
) -> dict[str, list[float]]:
    """Train a compiled model under a progress bar.

    Args:
        model: compiled, e.g. by :func:`compile_for`.
        inputs: what the model takes, ``(N, ...)``.
        labels: ``(N,)`` or targets of any form that the model's loss takes.
        params: batch size and number of epochs.
        options: passed on to ``model.fit``.

    Returns:
        Loss and metrics by name, a value an epoch.
    """
    with progress(total=params.epochs, label=f"training {model.name}", unit="epoch") as bar:
        history = model.fit(
            inputs,
            labels,
            batch_size=params.batch_size,
            epochs=params.epochs,
            verbose=0,
            callbacks=[_advancing(bar), *options.pop("callbacks", [])],
            **options,
        )
    return {name: [float(v) for v in values] for name, values in history.history.items()}


def _advancing(bar: Bar) -> keras.callbacks.Callback:
    import keras

    def advance(_epoch: int, logs: dict[str, float] | None = None) -> None:
        bar.set_postfix({k: f"{v:.3f}" for k, v in (logs or {}).items()}, refresh=False)
        bar.update()

    return keras.callbacks.LambdaCallback(on_epoch_end=advance)
