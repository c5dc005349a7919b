"""A recurrent network over the rows of an image, whatever runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.models.keras_models.probabilities import are_logits, softmax

Floats = NDArray[np.float32]


class Engine(Protocol):
    """What computes a network on sequences.

    Attributes:
        steps: length of a sequence, None where any will do.
        features: width of a step, None where any will do.
        batch: the number of sequences that it must be given, None where any will do.
        layer: name of the layer or tensor whose states it gives.
        threads: whether calls from several threads run side by side.
    """

    steps: int | None
    features: int | None
    batch: int | None
    layer: str
    threads: bool

    def compute(self, sequences: Floats) -> tuple[Floats, Floats]:
        """Outputs ``(B, K)`` and states ``(B, T, H)`` of sequences ``(B, T, F)``."""
        ...


class RecurrentModel:
    """Class probabilities and the hidden state after every time step.

    The rows of an image are the time steps, its values scaled to [0, 1]: an image of
    ``(H, W, C)`` is a sequence of H steps with W·C inputs each.

    An image's result does not depend on the images beside it: every computation is on exactly
    ``block`` sequences, the last one filled up with zeros.

    Attributes:
        engine: what computes it.
        layer: name of the layer whose states are given.
        classes: K, the number of classes.
        width: H, the size of a hidden state.
        logits: whether the network's own outputs are no probabilities, and get a softmax.
        block: number of sequences in a computation.
    """

    def __init__(self, engine: Engine, block: int = 64) -> None:
        self.engine = engine
        self.block = engine.batch or block
        self.layer = engine.layer
        sequences, outputs, states = self._probe()
        self.classes, self.width = outputs.shape[1], states.shape[2]
        self._steps: dict[int, int] = {sequences.shape[1]: states.shape[1]}
        self.logits = are_logits(outputs)

    @property
    def workers(self) -> int:
        """How many threads may usefully call :meth:`run_serially` at the same time."""
        return machine.available_threads() if self.engine.threads else 1

    def run(self, images: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Probabilities and states of any number of images, on all processors.

        Args:
            images: uint8 ``(N, H, W, C)``.

        Returns:
            Probabilities float32 ``(N, K)`` and hidden states float32 ``(N, T, H)``.

        Raises:
            UserError: the network does not take sequences of this form.
        """
        with ThreadPoolExecutor(self.workers) as threads:
            return self._run(images, threads.map)

    def run_serially(self, images: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """As :meth:`run`, all in the calling thread, for callers with threads of their own."""
        return self._run(images, map)

    def _run(
        self, images: NDArray[np.uint8], each: Callable[..., Iterable[None]]
    ) -> tuple[Floats, Floats]:
        probabilities = np.empty((len(images), self.classes), np.float32)
        states = np.empty((len(images), self.steps(images.shape[1:]), self.width), np.float32)

        def compute(start: int) -> None:
            rows = slice(start, start + self.block)
            probabilities[rows], states[rows] = self._run_block(images[rows])

        for _ in each(compute, range(0, len(images), self.block)):
            pass
        return probabilities, states

    def _run_block(self, images: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        shape = self.sequence_shape(images.shape[1:])
        sequences = np.zeros((self.block, *shape), np.float32)
        count = len(images)
        np.divide(images.reshape(count, *shape), np.float32(255), out=sequences[:count])
        outputs, states = self.engine.compute(sequences)
        outputs = outputs[:count]
        return (softmax(outputs) if self.logits else outputs), states[:count]

    def sequence_shape(self, image_shape: tuple[int, ...]) -> tuple[int, int]:
        """Steps and inputs of the sequence that an image ``(H, W, C)`` becomes.

        Raises:
            UserError: the network takes sequences of another form.
        """
        height, row = image_shape[0], math.prod(image_shape[1:])
        features = self.engine.features or row
        steps = self.engine.steps or height * row // features
        if steps * features != height * row:
            raise UserError(
                f"the network takes sequences of {steps} steps with {features} inputs, but the "
                f"images are {'×'.join(map(str, image_shape))}: {height} steps with {row} inputs"
            )
        return steps, features

    def steps(self, image_shape: tuple[int, ...]) -> int:
        """T, the number of states that an image ``(H, W, C)`` gives.

        It is the number of its rows, unless layers before the profiled one change it.
        """
        taken, features = self.sequence_shape(image_shape)
        if taken not in self._steps:
            _, states = self.engine.compute(np.zeros((self.block, taken, features), np.float32))
            self._steps[taken] = int(states.shape[1])
        return self._steps[taken]

    def _probe(self) -> tuple[Floats, Floats, Floats]:
        """Run on black, white and random images to learn the network's form and check it."""
        steps, features = self.engine.steps or 8, self.engine.features or 1
        sequences = np.random.default_rng(0).random((self.block, steps, features), np.float32)
        sequences[0], sequences[-1] = 0, 1
        outputs, states = self.engine.compute(sequences)
        if outputs.ndim != 2 or outputs.shape[1] < 2:
            raise UserError(
                f"the network's output is {_form(outputs)}: it must be (N, K), "
                "one value for each of at least 2 classes"
            )
        if states.ndim != 3 or len(states) != len(outputs):
            raise UserError(
                f"{self.layer} gives {_form(states)}, not a hidden state for each "
                "step (N, T, H): name a recurrent layer, or a tensor of that form"
            )
        if not (np.isfinite(outputs).all() and np.isfinite(states).all()):
            raise UserError("the network computes NaN or infinity on ordinary images")
        return sequences, outputs, states


def _form(values: Floats) -> str:
    return f"({', '.join(['N', *map(str, values.shape[1:])])})"
