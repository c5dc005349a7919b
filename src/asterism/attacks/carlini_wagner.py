"""Carlini and Wagner's L2 attack, compiled.

The attack runs Adam thousands of times per input, so an implementation that steps through it
operation by operation takes minutes for each. This is the authors' algorithm ("Towards evaluating
the robustness of neural networks", S&P 2017, section V-B and VI-A) with its steps in one graph, in
which every input of a batch keeps its own constant, optimiser and early end, as if it were alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.attacks.attack import ATTACKS, Attack, Floats, Ints, Victims
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.params import CarliniWagnerParams

#: Pixels of 0 and 1 have no preimage under tanh; they are drawn in by this much.
_INSIDE = 0.999999
_BETA1, _BETA2, _ADAM_EPSILON = 0.9, 0.999, 1e-8
#: A trial ends early when the loss has not fallen below this share of what it was.
_PROGRESS = 0.9999


@ATTACKS.register("carlini_wagner")
class CarliniWagner(Attack):
    """The smallest change, in L2, that makes another class win."""

    @property
    def inputs(self) -> int:
        """How many inputs it starts from: its own number, where it has one."""
        own = self.params.carlini_wagner.inputs
        return self.params.inputs if own is None else min(own, self.params.inputs)

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """For each input the best of all trials; the input itself where none succeeds."""
        settings = self.params.carlini_wagner
        trial = _Trial(estimator, settings)
        parts = [
            _search(trial, settings, victims.part(i, i + self.params.batch))
            for i in range(0, len(victims.images), self.params.batch)
        ]
        return np.concatenate(parts)


def _search(trial: _Trial, settings: CarliniWagnerParams, victims: Victims) -> Floats:
    """Binary search of the least constant that still finds an adversarial input."""
    count = len(victims.images)
    const = np.full(count, settings.initial_const)
    lower, upper = np.zeros(count), np.full(count, np.inf)
    best, best_norm = victims.images.copy(), np.full(count, np.inf)
    for _ in range(settings.binary_search_steps):
        found, norm = trial(victims.images, victims.labels, const.astype(np.float32))
        closer = norm < best_norm
        best[closer], best_norm[closer] = found[closer], norm[closer]
        success = np.isfinite(norm)
        upper = np.where(success, np.minimum(upper, const), upper)
        lower = np.where(success, lower, np.maximum(lower, const))
        const = np.where(np.isinf(upper), const * 10, (lower + upper) / 2)
    return best


class _Trial:
    """One run of Adam for given constants.

    It goes in rounds, after each of which inputs that have stopped improving leave the batch.
    """

    def __init__(self, estimator: PixelEstimator, settings: CarliniWagnerParams) -> None:
        self._settings = settings
        self._round = _compiled_round(estimator, settings)

    def __call__(
        self, images: Floats, labels: Ints, const: Floats
    ) -> tuple[Floats, NDArray[np.float32]]:
        """The best image found for each input, and its squared distance; infinite without one."""
        best, norm = images.copy(), np.full(len(images), np.inf, np.float32)
        going = np.arange(len(images))
        fixed = (np.arctanh((2 * images - 1) * np.float32(_INSIDE)), labels, const)
        moving = [np.zeros_like(images)] * 3
        before = np.full(len(images), np.inf, np.float32)
        done = 0
        for steps in self._rounds():
            *moving, best[going], norm[going], loss = (
                value.numpy()
                for value in self._round(done, steps, *fixed, *moving, best[going], norm[going])
            )
            done += steps
            if self._settings.abort_early:
                goes_on = loss <= _PROGRESS * before
                going, before = going[goes_on], loss[goes_on]
                fixed = tuple(value[goes_on] for value in fixed)
                moving = [value[goes_on] for value in moving]
            if not len(going):
                break
        return best, norm

    def _rounds(self) -> Iterator[int]:
        """Numbers of steps: progress is looked at after the first and at every tenth of all."""
        total = self._settings.iterations
        often = max(1, total // 10)
        yield 1
        for start in range(1, total, often):
            yield min(often, total - start)


def _compiled_round(estimator: PixelEstimator, settings: CarliniWagnerParams) -> Any:
    """Some steps of Adam from where the last round ended; the state after them and the loss."""

    def losses(moved: Any, origin: Any, labels: Any, const: Any) -> tuple[Any, Any, Any, Any]:
        pixels = (tf.tanh(moved) + 1) / 2
        logits = estimator.scores(pixels)
        own = tf.one_hot(labels, tf.shape(logits)[1], dtype=tf.bool, on_value=True, off_value=False)
        true = tf.reduce_max(tf.where(own, logits, -np.inf), axis=1)
        other = tf.reduce_max(tf.where(own, -np.inf, logits), axis=1)
        distance = tf.reduce_sum((pixels - origin) ** 2, axis=(1, 2, 3))
        margin = true - other + settings.confidence
        return distance + const * tf.maximum(margin, 0.0), pixels, margin, distance

    def run(
        done: Any, steps: Any, start: Any, labels: Any, const: Any, *state: Any
    ) -> tuple[Any, ...]:
        origin = (tf.tanh(start) + 1) / 2

        def advance(
            step: Any, delta: Any, first: Any, second: Any, best: Any, norm: Any, _: Any
        ) -> tuple[Any, ...]:
            with tf.GradientTape() as tape:
                tape.watch(delta)
                loss, pixels, margin, distance = losses(start + delta, origin, labels, const)
            gradient = tape.gradient(loss, delta)
            closer = (margin < 0) & (distance < norm)
            best = tf.where(closer[:, None, None, None], pixels, best)
            norm = tf.where(closer, distance, norm)
            first = _BETA1 * first + (1 - _BETA1) * gradient
            second = _BETA2 * second + (1 - _BETA2) * gradient**2
            power = tf.cast(step + 1, tf.float32)
            unbiased = first / (1 - _BETA1**power)
            scale = tf.sqrt(second / (1 - _BETA2**power)) + _ADAM_EPSILON
            delta -= settings.learning_rate * unbiased / scale
            return step + 1, delta, first, second, best, norm, loss

        begin = (done, *state, tf.zeros_like(const))
        result = tf.while_loop(lambda step, *_: step < done + steps, advance, begin)
        return tuple(result[1:])

    pixels = tf.TensorSpec((None, *estimator.input_shape), tf.float32)
    number, numbers = tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32)
    labels = tf.TensorSpec((None,), tf.int64)
    signature = [number, number, pixels, labels, numbers, pixels, pixels, pixels, pixels, numbers]
    return tf.function(run, signature, autograph=False)
