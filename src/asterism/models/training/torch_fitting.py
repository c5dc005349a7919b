"""Training by PyTorch that gives the same weights every time."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import optim
from torch.nn import functional as f

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import spawn_integer
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.models.params import TrainingParams
from asterism.models.training.torch_copies import TorchCopy, as_torch_takes

if TYPE_CHECKING:
    import keras

#: The file of a training's state.
_STATE = "training.npz"

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
def deterministic(seed: int, *path: str | int) -> Iterator[None]:
    """PyTorch with all fixed that weights depend on, which the number of threads is part of.

    More than one thread is slower where other processes take the cores. See
    :func:`~.fitting.make_deterministic`.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else a GPU's sums vary
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.manual_seed(spawn_integer(seed, *path))
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


#: The loss of images, the logits that the trained network gives them, and labels.
Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def _cross_entropy(
    images: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    return f.cross_entropy(logits, labels)


@dataclass(frozen=True)
class TorchOptions:
    """How a training by PyTorch differs from the plain one.

    Attributes:
        rate: the learning rate in an epoch after a number of steps; None for a constant one.
        augment: whether images are shifted by up to an eighth and mirrored.
        bfloat16: whether convolutions and products compute in bfloat16.
        checkpoint: keeps the state after an epoch, with which the training resumes; None for none.
        device: on which it runs. Random numbers are drawn on the CPU, so batches and shifts are the
            same on each device, and a training may resume on another.
        loss: what is minimised.
    """

    rate: Callable[[int, int], float] | None = None
    augment: bool = False
    bfloat16: bool = False
    checkpoint: Checkpoint | None = None
    device: str = "cpu"
    loss: Loss = _cross_entropy


def train_by_torch(
    model: keras.Model,
    inputs: NDArray[np.float32],
    labels: NDArray[np.int64],
    params: TrainingParams,
    seed: int,
    options: TorchOptions = TorchOptions(),
) -> dict[str, list[float]]:
    """Train a Keras model by PyTorch, which begins with the model's weights."""
    with deterministic(seed, "train_by_torch"):
        copy = TorchCopy(model)
        history = fit_by_torch(copy, inputs, labels, params, options)
    copy.give_weights(model)
    return history


def fit_by_torch(
    copy: TorchCopy,
    inputs: NDArray[np.float32],
    labels: NDArray[np.int64],
    params: TrainingParams,
    options: TorchOptions = TorchOptions(),
) -> dict[str, list[float]]:
    """Train a classifier in a block of :func:`deterministic`, under a progress bar.

    Args:
        copy: is changed, and lies on the CPU before and after.
        inputs: as the Keras model takes them, ``(N, ...)``.
        labels: ``(N,)``.
        params: optimiser, batch size and number of epochs.
        options: how it differs from a plain training.

    Returns:
        ``loss`` and ``accuracy``, a value an epoch.

    Raises:
        UserError: PyTorch has no such optimiser.
    """
    copy.to(options.device)
    training = _Training(copy, _optimiser(params, copy), {"loss": [], "accuracy": []})
    given = as_torch_takes(inputs).to(options.device)
    wanted = torch.from_numpy(labels.astype(np.int64)).to(options.device)
    if options.checkpoint is not None:
        options.checkpoint.restore(training.load)
    history = training.history
    with progress(total=params.epochs, label="training by PyTorch", unit="epoch") as bar:
        bar.update(begun := len(history["loss"]))
        for epoch in range(begun, params.epochs):
            training.pass_over(given, wanted, epoch, params.batch_size, options)
            bar.set_postfix({k: f"{v[-1]:.3f}" for k, v in history.items()}, refresh=False)
            bar.update()
            if options.checkpoint is not None and options.checkpoint.is_due():
                options.checkpoint.save(training.save)
    copy.to("cpu").eval()
    return history


@dataclass(frozen=True)
class _Training:
    """A classifier in training, its optimiser, and loss and accuracy so far."""

    copy: TorchCopy
    steps: optim.Optimizer
    history: dict[str, list[float]]

    def pass_over(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        epoch: int,
        batch_size: int,
        options: TorchOptions,
    ) -> None:
        """Train for one epoch."""
        self.copy.train()
        loss = right = 0.0
        batches = torch.split(torch.randperm(len(inputs)), batch_size)
        for number, rows in enumerate(batches, start=epoch * len(batches)):
            if options.rate is not None:
                self.steps.param_groups[0]["lr"] = options.rate(epoch, number)
            taken = _shifted_and_mirrored(inputs[rows]) if options.augment else inputs[rows]
            with torch.autocast(inputs.device.type, torch.bfloat16, enabled=options.bfloat16):
                logits = self.copy.logits(taken).float()
            error = options.loss(taken, logits, labels[rows])
            self.steps.zero_grad()
            error.backward()  # type: ignore[no-untyped-call]
            self.steps.step()
            loss += float(error.detach()) * len(rows)
            right += int((logits.argmax(1) == labels[rows]).sum())
        self.history["loss"].append(loss / len(inputs))
        self.history["accuracy"].append(right / len(inputs))

    def save(self, folder: Path) -> None:
        """Write all that the next epoch depends on into a folder."""
        state = self.steps.state_dict()["state"]
        tensors = {f"weights/{name}": value for name, value in self.copy.state_dict().items()}
        for number, values in state.items():
            tensors |= {f"steps/{number}/{name}": value for name, value in values.items()}
        arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
        arrays |= {name: np.asarray(values) for name, values in self.history.items()}
        write_arrays(folder / _STATE, random=torch.get_rng_state().numpy(), **arrays)

    def load(self, folder: Path) -> None:
        """Resume from what :meth:`save` has written."""
        arrays = read_arrays(folder / _STATE)
        weights: dict[str, torch.Tensor] = {}
        state: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
        for path, array in arrays.items():
            group, _, name = path.partition("/")
            if group == "weights":
                weights[name] = torch.from_numpy(array)
            elif group == "steps":
                number, _, name = name.partition("/")
                state[int(number)][name] = torch.from_numpy(array)
        self.copy.load_state_dict(weights)
        self.steps.load_state_dict(self.steps.state_dict() | {"state": dict(state)})
        torch.set_rng_state(torch.from_numpy(arrays["random"]))
        for name, values in self.history.items():
            values[:] = arrays[name].tolist()


def _shifted_and_mirrored(images: torch.Tensor) -> torch.Tensor:
    """Images ``(N, C, H, W)``, each moved by up to an eighth, half of them mirrored.

    What a shift uncovers is zero.
    """
    count, _, height, width = images.shape
    down, across = height // 8, width // 8
    padded = f.pad(images, (across, across, down, down))
    rows = torch.arange(height) + torch.randint(2 * down + 1, (count, 1))
    columns = torch.arange(width) + torch.randint(2 * across + 1, (count, 1))
    columns = torch.where(torch.rand(count, 1) < 0.5, columns.flip(1), columns)
    which = torch.arange(count)[:, None, None]
    return padded[which, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


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
