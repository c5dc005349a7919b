"""A recurrent network over the steps of its inputs, whatever runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.settings import machine
from asterism.models.images_and_scores import are_logits, softmax

Floats = NDArray[np.float32]
Inputs = NDArray[Any]

#: The uint8 level that becomes 1: recurrent networks get images in [0, 1], those of users too.
WHITE = np.float32(255)


class SequenceForm(ParameterSection):
    """What an engine takes, and whose states it gives.

    Attributes:
        layer: name of the layer or tensor whose states it gives.
        steps: length of a sequence, None where any will do.
        features: width of a step, None where any will do.
        batch: the number of sequences that it must be given, None where any will do.
        numbers: dtype of the steps where each is one number, such as a token's id; None where each
            is a vector of float32.
    """

    layer: str
    steps: int | None
    features: int | None
    batch: int | None
    numbers: str | None = None


class Engine(Protocol):
    """What computes a network on sequences.

    Attributes:
        form: what it takes, and whose states it gives.
        threads: whether calls from several threads run side by side.
        notes: of the device, if that is no processor.
    """

    form: SequenceForm
    threads: bool
    notes: tuple[str, ...]

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """Outputs ``(B, K)`` and states ``(B, T, H)`` of sequences.

        Args:
            sequences: float32 ``(B, T, F)``, or ``(B, T)`` in the dtype of the form's numbers.
        """
        ...


class RecurrentModel:
    """Class probabilities and the hidden state after every time step.

    The first axis of an input is the time. Images are uint8 ``(N, H, W, C)``: their values are
    scaled to [0, 1], and an image is a sequence of H steps with W·C numbers each. Token ids are
    wider integers ``(N, T)``. Other inputs are floating, ``(N, T, ...)``, and taken as they are.

    An input's result does not depend on the inputs beside it: every computation is on exactly
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
        self.engine, self._form = engine, engine.form
        self.block = self._form.batch or block
        self.layer = self._form.layer
        sequences, outputs, states = self._probe()
        self.classes, self.width = outputs.shape[1], states.shape[2]
        self._steps: dict[int, int] = {sequences.shape[1]: states.shape[1]}
        self.logits = are_logits(outputs)

    @property
    def workers(self) -> int:
        """How many threads may usefully call :meth:`run_serially` at the same time."""
        return machine.available_threads() if self.engine.threads else 1

    def run(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Probabilities and states of any number of inputs, on all processors.

        Args:
            inputs: ``(N, ...)``, see above.

        Returns:
            Probabilities float32 ``(N, K)`` and hidden states float32 ``(N, T, H)``.

        Raises:
            UserError: the network does not take sequences of this form.
        """
        with ThreadPoolExecutor(self.workers) as threads:
            return self._run(inputs, threads.map)

    def run_serially(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """As :meth:`run`, all in the calling thread, for callers with threads of their own."""
        return self._run(inputs, map)

    def _run(self, inputs: Inputs, each: Callable[..., Iterable[None]]) -> tuple[Floats, Floats]:
        self._require_kind(inputs)
        probabilities = np.empty((len(inputs), self.classes), np.float32)
        states = np.empty((len(inputs), self.steps(inputs.shape[1:]), self.width), np.float32)

        def compute(start: int) -> None:
            rows = slice(start, start + self.block)
            probabilities[rows], states[rows] = self._run_block(inputs[rows])

        for _ in each(compute, range(0, len(inputs), self.block)):
            pass
        return probabilities, states

    def _run_block(self, inputs: Inputs) -> tuple[Floats, Floats]:
        sequences = self._empty(self.sequence_shape(inputs.shape[1:]))
        count = len(inputs)
        given = inputs.reshape(sequences[:count].shape)
        if inputs.dtype == np.uint8:
            np.divide(given, WHITE, out=sequences[:count])
        else:
            sequences[:count] = given
        outputs, states = self.engine.compute(sequences)
        outputs = outputs[:count]
        return (softmax(outputs) if self.logits else outputs), states[:count]

    def _require_kind(self, inputs: Inputs) -> None:
        """Reject inputs whose kind of numbers the network does not take."""
        numbers, is_image = self._form.numbers, inputs.dtype == np.uint8
        takes = "vectors" if numbers is None else f"sequences of single numbers ({numbers})"
        if numbers is None and inputs.dtype.kind in "iu" and not is_image:
            raise UserError(f"the network takes {takes}, but the inputs are token ids")
        if numbers is not None and is_image:
            raise UserError(f"the network takes {takes}, but the inputs are images")
        if numbers is not None and np.dtype(numbers).kind in "iu" and inputs.dtype.kind == "f":
            raise UserError(f"the network takes {takes}, but the inputs are {inputs.dtype}")

    def _empty(self, shape: tuple[int, ...]) -> Inputs:
        """A block of sequences of this shape, all zero."""
        return np.zeros((self.block, *shape), self._form.numbers or np.float32)

    def sequence_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the sequence that an input of this shape becomes.

        Returns:
            Steps and numbers of a step, ``(T, F)``; ``(T,)`` where a step is one number.

        Raises:
            UserError: the network takes sequences of another form.
        """
        length, row = shape[0], math.prod(shape[1:])
        given = f"{'×'.join(map(str, shape))}: {length} steps with {row} inputs"
        if self._form.numbers is not None:
            if row != 1 or self._form.steps not in (None, length):
                raise UserError(
                    f"the network takes sequences of {self._form.steps or 'any number of'} steps "
                    f"with one number, but the inputs are {given}"
                )
            return (length,)
        features = self._form.features or row
        steps = self._form.steps or length * row // features
        if steps * features != length * row:
            raise UserError(
                f"the network takes sequences of {steps} steps with {features} inputs, but the "
                f"{'images' if len(shape) == 3 else 'inputs'} are {given}"
            )
        return steps, features

    def steps(self, shape: tuple[int, ...]) -> int:
        """T, the number of states that an input of this shape gives.

        It is the number of its steps, unless layers before the profiled one change it.
        """
        taken = self.sequence_shape(shape)
        if taken[0] not in self._steps:
            _, states = self.engine.compute(self._empty(taken))
            self._steps[taken[0]] = int(states.shape[1])
        return self._steps[taken[0]]

    def _probe(self) -> tuple[Inputs, Floats, Floats]:
        """Run on sequences of 0, of 1 and of random numbers, to learn the network's form."""
        steps, features = self._form.steps or 8, self._form.features or 1
        sequences = self._empty((steps,) if self._form.numbers else (steps, features))
        drawn = np.random.default_rng(0).random(sequences.shape, np.float32)
        sequences[:] = drawn if sequences.dtype.kind == "f" else np.rint(drawn)
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
            raise UserError("the network computes NaN or infinity on ordinary inputs")
        return sequences, outputs, states


def _form(values: Floats) -> str:
    return f"({', '.join(['N', *map(str, values.shape[1:])])})"
