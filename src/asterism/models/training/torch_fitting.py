"""Training by PyTorch that gives the same weights every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import optim
from torch.nn import functional as f

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import spawn_integer
from asterism.core.settings import machine
from asterism.models.params import TrainingParams
from asterism.models.training.torch_copies import TorchCopy, as_torch_takes

if TYPE_CHECKING:
    import keras

#: PyTorch's optimisers by the names that Keras has for them.
_OPTIMISERS: dict[str, Callable[..., optim.Optimizer]] = {
    "adadelta": optim.Adadelta,
    "adagrad": optim.Adagrad,
    "adam": optim.Adam,
    "adamax": optim.Adamax,
    "adamw": optim.AdamW,
    "nadam": optim.NAdam,
    "rmsprop": optim.RMSprop,
    "sgd": optim.SGD,
}


@contextmanager
def deterministic(
    seed: int, *path: str | int, threads: int = machine.TRAINING_THREADS
) -> Iterator[None]:
    """PyTorch with all fixed that weights depend on; see :func:`~.fitting.make_deterministic`."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.manual_seed(spawn_integer(seed, *path))
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


def train_by_torch(
    model: keras.Model,
    inputs: NDArray[np.float32],
    labels: NDArray[np.int64],
    params: TrainingParams,
    seed: int,
    rate: Callable[[int, int], float] | None = None,
    threads: int = machine.TRAINING_THREADS,
) -> dict[str, list[float]]:
    """Train a Keras model by PyTorch, which begins with the model's weights."""
    with deterministic(seed, "train_by_torch", threads=threads):
        copy = TorchCopy(model)
        history = fit_by_torch(copy, inputs, labels, params, rate)
    copy.give_weights(model)
    return history


def fit_by_torch(
    copy: TorchCopy,
    inputs: NDArray[np.float32],
    labels: NDArray[np.int64],
    params: TrainingParams,
    rate: Callable[[int, int], float] | None = None,
) -> dict[str, list[float]]:
    """Train a classifier in a block of :func:`deterministic`, under a progress bar.

    Args:
        copy: is changed.
        inputs: as the Keras model takes them, ``(N, ...)``.
        labels: ``(N,)``.
        params: optimiser, batch size and number of epochs.
        rate: the learning rate in an epoch after a number of steps; None for a constant one.

    Returns:
        ``loss`` and ``accuracy``, a value an epoch.

    Raises:
        UserError: PyTorch has no such optimiser.
    """
    steps = _optimiser(params, copy)
    given, wanted = as_torch_takes(inputs), torch.from_numpy(labels.astype(np.int64))
    history: dict[str, list[float]] = {"loss": [], "accuracy": []}
    taken = 0
    copy.train()
    with progress(total=params.epochs, label="training by PyTorch", unit="epoch") as bar:
        for epoch in range(params.epochs):
            loss = right = 0.0
            for rows in torch.split(torch.randperm(len(given)), params.batch_size):
                if rate is not None:
                    steps.param_groups[0]["lr"] = rate(epoch, taken)
                logits = copy.logits(given[rows])
                error = f.cross_entropy(logits, wanted[rows])
                steps.zero_grad()
                error.backward()  # type: ignore[no-untyped-call]
                steps.step()
                taken += 1
                loss += float(error.detach()) * len(rows)
                right += int((logits.argmax(1) == wanted[rows]).sum())
            history["loss"].append(loss / len(given))
            history["accuracy"].append(right / len(given))
            bar.set_postfix({k: f"{v[-1]:.3f}" for k, v in history.items()}, refresh=False)
            bar.update()
    copy.eval()
    return history


def _optimiser(params: TrainingParams, copy: TorchCopy) -> Any:
    if params.optimizer == "nesterov_sgd":  # as `fitting` has it for Keras
        return optim.SGD(
            copy.parameters(), params.learning_rate, 0.9, weight_decay=2 * 1e-4, nesterov=True
        )
    if params.optimizer not in _OPTIMISERS:
        raise UserError(
            f"PyTorch has no optimiser {params.optimizer!r}: choose nesterov_sgd or one of "
            f"{', '.join(_OPTIMISERS)}"
        )
    return _OPTIMISERS[params.optimizer](copy.parameters(), lr=params.learning_rate)
