"""Carlini and Wagner's L2 attack.

"Towards evaluating the robustness of neural networks", S&P 2017, sections V-B and VI-A.

Of the attacks this alone is written here. ART's version changed 3 of 36
digits where this one changes all, and those by 10 to 23% more. It searches along lines, although
pixels of exactly 0 and 1 have almost no gradient under tanh, and doubles the constant where the
authors multiply it by 10. Foolbox's version gives the same results, and ends a trial for a whole
batch at once: its inputs have to be passed one by one, in 100 s of a processor's time where this
takes 15 s (``docs/measurements/importance.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.attacks.methods import ATTACKS, Attack, AttackSeeds, Floats, Ints
from asterism.core.messages.console import progress
from asterism.core.parameters.params import ParameterSection

if TYPE_CHECKING:
    from asterism.attacks.estimator import PixelEstimator

#: The loss has to fall by this factor from one check to the next, or the trial ends.
_FALL = 0.9999

#: A trial's progress is checked so many times.
_CHECKS = 10

#: Of Adam (Kingma and Ba, ICLR 2015): decay of the means of gradients and of their squares.
_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8

#: From this number of trials on, the last one takes the largest constant that has worked.
_TRIALS_TO_REPEAT = 10

#: Grey levels stay this near to -1 and 1, where the inverse of tanh is finite.
_INSIDE = 0.999999


@ATTACKS.register("carlini_wagner")
class CarliniWagner(Attack):
    """The smallest change, in L2, that makes another class win."""

    class Options(ParameterSection):
        """The authors' options, and a number of inputs of its own."""

        inputs: int | None = Field(
            ge=1,
            description="inputs to start from; null: as many as the others. It is the slow one",
        )
        confidence: float = Field(ge=0, description="margin by which the wrong class must win")
        learning_rate: float = Field(gt=0, description="of Adam")
        binary_search_steps: int = Field(ge=1, description="trials of the trade-off constant")
        iterations: int = Field(ge=1, description="largest number of Adam's steps in each trial")
        abort_early: bool = Field(description="end an input's trial when its loss stops falling")
        initial_const: float = Field(gt=0, description="first trade-off constant")

    def __init__(self, options: Options, inputs: int, batch: int) -> None:
        own = options.inputs
        super().__init__(options, inputs if own is None else min(own, inputs), batch)

    def perturb(self, estimator: PixelEstimator, victims: AttackSeeds) -> Floats:
        """The nearest pixels of another class that were found; an input itself where none was.

        Every input has trials of its own, each of which ends when this input's loss stops
        falling. What is done at once is a step of Adam for all inputs of a batch.
        """
        nearest = victims.images.copy()
        starts = range(0, len(nearest), self.batch)
        for start in progress(starts, label="carlini_wagner", unit="batch"):
            here = slice(start, start + self.batch)
            searches = _Searches.begin(
                victims.images[here], victims.labels[here], self.options.initial_const
            )
            while len(searches.places):
                searches.step(estimator, self.options)
                done = searches.trials == self.options.binary_search_steps
                if done.any():
                    nearest[here][searches.places[done]] = searches.nearest[done]
                    searches = searches.only(~done)
        return nearest


@dataclass
class _Searches:
    """The searches of some inputs, which take their steps together and know nothing of another.

    Attributes:
        places: of the inputs in their batch, ``(N,)``.
        labels: their classes, ``(N,)``.
        anchors: the inputs as they are changed, before tanh, float32 ``(N, H, W, C)``.
        starts: the pixels that the anchors stand for, of the same shape.
        images: the inputs' pixels.
        nearest: the nearest pixels of another class so far.
        distances: theirs in L2, ``(N,)``; infinite before any was found.
        trials: how many have ended, ``(N,)``.
        constants, lower, upper: of the loss of another class in the present trial, and what lies
            around the one that is looked for, float64 ``(N,)``.
        steps: of the present trial, ``(N,)``.
        found: whether it has found another class.
        losses: at its last check.
        changes: of the anchors.
        means, squares: Adam's, of the gradients and of their squares.
    """

    places: Ints
    labels: Ints
    anchors: Floats
    starts: Floats
    images: Floats
    nearest: Floats
    distances: Floats
    trials: Ints
    constants: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    steps: Ints
    found: NDArray[np.bool_]
    losses: Floats
    changes: Floats
    means: Floats
    squares: Floats

    @classmethod
    def begin(cls, images: Floats, labels: Ints, constant: float) -> Self:
        """The first trial of each input."""
        anchors = np.arctanh((2 * images - 1) * np.float32(_INSIDE))
        count = len(images)
        return cls(
            places=np.arange(count),
            labels=labels,
            anchors=anchors,
            starts=(np.tanh(anchors) + 1) / 2,
            images=images,
            nearest=images.copy(),
            distances=np.full(count, np.inf, np.float32),
            trials=np.zeros(count, np.int64),
            constants=np.full(count, constant),
            lower=np.zeros(count),
            upper=np.full(count, np.inf),
            steps=np.zeros(count, np.int64),
            found=np.zeros(count, bool),
            losses=np.full(count, np.inf, np.float32),
            changes=np.zeros_like(images),
            means=np.zeros_like(images),
            squares=np.zeros_like(images),
        )

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Those of some inputs."""
        return type(self)(**{f.name: getattr(self, f.name)[kept] for f in fields(self)})

    def step(self, estimator: PixelEstimator, options: CarliniWagner.Options) -> None:
        """One step of Adam for each input; trials that this ends are followed by the next."""
        slopes = np.tanh(self.anchors + self.changes)
        pixels = (slopes + 1) / 2
        moved = pixels - self.starts
        weights = self.constants.astype(np.float32)
        leads, gradients = estimator.lead(pixels, self.labels, weights, options.confidence)
        losses = weights * np.maximum(leads + np.float32(options.confidence), 0) + _squared(moved)
        # Pixels change by (1 - tanh²) / 2 with what tanh is taken of.
        self._adam((gradients + 2 * moved) * ((1 - slopes * slopes) / 2), options.learning_rate)

        ended = np.zeros(len(self.places), bool)
        if options.abort_early:
            checked = self.steps % -(-options.iterations // _CHECKS) == 0
            ended = checked & ~(losses <= np.float32(_FALL) * self.losses)
            self.losses = np.where(checked, losses, self.losses)
        self._keep(pixels, (leads + options.confidence < 0) & ~ended)
        self.steps += 1
        ended |= self.steps == options.iterations
        if ended.any():
            self._next_trial(ended, options.binary_search_steps)

    def _adam(self, gradients: Floats, learning_rate: float) -> None:
        """Move the changes against the gradients."""
        self.means += (1 - _DECAY) * (gradients - self.means)
        self.squares += (1 - _SQUARE_DECAY) * (gradients * gradients - self.squares)
        steps = (self.steps + 1.0).reshape(-1, *[1] * (gradients.ndim - 1))
        size = (learning_rate / (1 - _DECAY**steps)).astype(np.float32)
        spread = np.sqrt(self.squares / (1 - _SQUARE_DECAY**steps).astype(np.float32))
        self.changes -= size * self.means / (spread + np.float32(_EPSILON))

    def _keep(self, pixels: Floats, other: NDArray[np.bool_]) -> None:
        """Keep pixels of another class that are nearer than those before."""
        self.found |= other
        if other.any():
            distances = np.sqrt(_squared(pixels - self.images))
            nearer = other & (distances < self.distances)
            self.nearest[nearer], self.distances[nearer] = pixels[nearer], distances[nearer]

    def _next_trial(self, ended: NDArray[np.bool_], trials: int) -> None:
        """Continue between the constants that were too small and those that worked.

        Where none has worked, the next is ten times as large.
        """
        self.upper = np.where(ended & self.found, self.constants, self.upper)
        self.lower = np.where(ended & ~self.found, self.constants, self.lower)
        untried = np.isinf(self.upper)
        between = np.where(untried, self.constants * 10, (self.lower + self.upper) / 2)
        self.trials += ended
        if trials >= _TRIALS_TO_REPEAT:
            last = self.trials == trials - 1
            between = np.where(last, np.minimum(self.upper, 1e10), between)
        self.constants = np.where(ended, between, self.constants)
        self.steps[ended], self.found[ended], self.losses[ended] = 0, False, np.inf
        for state in (self.changes, self.means, self.squares):
            state[ended] = 0


def _squared(arrays: Floats) -> Floats:
    """The squared length of each, ``(N,)``."""
    flat = arrays.reshape(len(arrays), -1)
    lengths: Floats = np.einsum("ij,ij->i", flat, flat)
    return lengths
