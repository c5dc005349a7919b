"""Carlini and Wagner's L2 attack, compiled.

The attack runs Adam thousands of times per input, so an implementation that steps through it
operation by operation takes minutes for each. This is the authors' algorithm ("Towards evaluating
the robustness of neural networks", S&P 2017, section V-B and VI-A) as one graph, in which every
input of a batch keeps its own constant, optimiser and early end, as if it were alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from asterism.attacks.attack import ATTACKS, Attack, Floats, Victims
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
        trial = _compiled_trial(estimator, settings)
        parts = [
            _search(trial, settings, victims.part(i, i + self.params.batch))
            for i in range(0, len(victims.images), self.params.batch)
        ]
        return np.concatenate(parts)


def _search(trial: Any, settings: CarliniWagnerParams, victims: Victims) -> Floats:
    """Binary search of the least constant that still finds an adversarial input."""
    count = len(victims.images)
    const = np.full(count, settings.initial_const)
    lower, upper = np.zeros(count), np.full(count, np.inf)
    best, best_norm = victims.images.copy(), np.full(count, np.inf)
    for _ in range(settings.binary_search_steps):
        found, norm = (
            value.numpy()
            for value in trial(victims.images, victims.labels, const.astype(np.float32))
        )
        closer = norm < best_norm
        best[closer], best_norm[closer] = found[closer], norm[closer]
        success = np.isfinite(norm)
        upper = np.where(success, np.minimum(upper, const), upper)
        lower = np.where(success, lower, np.maximum(lower, const))
        const = np.where(np.isinf(upper), const * 10, (lower + upper) / 2)
    return best


def _compiled_trial(estimator: PixelEstimator, settings: CarliniWagnerParams) -> Any:
    """One trial of Adam: from images, labels and constants to the best found and its norm²."""
    check_every = max(1, settings.iterations // 10)

    def losses(moved: Any, origin: Any, labels: Any, const: Any) -> tuple[Any, Any, Any, Any]:
        pixels = (tf.tanh(moved) + 1) / 2
        logits = estimator.scores(pixels)
        own = tf.one_hot(labels, tf.shape(logits)[1], dtype=tf.bool, on_value=True, off_value=False)
        true = tf.reduce_max(tf.where(own, logits, -np.inf), axis=1)
        other = tf.reduce_max(tf.where(own, -np.inf, logits), axis=1)
        distance = tf.reduce_sum((pixels - origin) ** 2, axis=(1, 2, 3))
        margin = true - other + settings.confidence
        return distance + const * tf.maximum(margin, 0.0), pixels, margin, distance

    def trial(images: Any, labels: Any, const: Any) -> tuple[Any, Any]:
        start = tf.atanh((2 * images - 1) * _INSIDE)
        origin = (tf.tanh(start) + 1) / 2

        def goes_on(step: Any, *state: Any) -> Any:
            return tf.logical_and(step < settings.iterations, tf.reduce_any(state[3]))

        def advance(
            step: Any,
            delta: Any,
            first: Any,
            second: Any,
            active: Any,
            checked: Any,
            best: Any,
            norm: Any,
        ) -> tuple[Any, ...]:
            with tf.GradientTape() as tape:
                tape.watch(delta)
                loss, pixels, margin, distance = losses(start + delta, origin, labels, const)
            gradient = tape.gradient(loss, delta)
            closer = active & (margin < 0) & (distance < norm)
            best = tf.where(closer[:, None, None, None], pixels, best)
            norm = tf.where(closer, distance, norm)
            if settings.abort_early:
                at_check = tf.equal(step % check_every, 0)
                stalled = at_check & ~(loss <= _PROGRESS * checked)
                checked = tf.where(at_check, loss, checked)
                active = active & ~stalled
            first = _BETA1 * first + (1 - _BETA1) * gradient
            second = _BETA2 * second + (1 - _BETA2) * gradient**2
            power = tf.cast(step + 1, tf.float32)
            unbiased = first / (1 - _BETA1**power)
            scale = tf.sqrt(second / (1 - _BETA2**power)) + _ADAM_EPSILON
            delta -= settings.learning_rate * unbiased / scale
            return step + 1, delta, first, second, active, checked, best, norm

        count = tf.shape(images)[0]
        zeros = tf.zeros_like(images)
        endless = tf.fill([count], np.float32(np.inf))
        state = (
            tf.constant(0),
            zeros,
            zeros,
            zeros,
            tf.fill([count], True),
            endless,
            images,
            endless,
        )
        result = tf.while_loop(lambda s, *r: goes_on(s, *r), advance, state)
        return result[-2], result[-1]

    shape = estimator.input_shape
    signature = [
        tf.TensorSpec((None, *shape), tf.float32),
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((None,), tf.float32),
    ]
    return tf.function(trial, signature, autograph=False)
