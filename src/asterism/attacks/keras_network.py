"""Models of Keras as networks on pixels in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from asterism.attacks.methods import Floats
from asterism.models.images_and_scores import PreprocessingParams


def build_pixel_function(
    function: Callable[[Any], Any], preprocessing: PreprocessingParams
) -> Callable[[Any], Any]:
    """A function of a model's input as one of pixels in [0, 1]."""
    factor, shift = preprocessing.affine()
    levels, shift = (255 * factor).astype(np.float32), shift.astype(np.float32)
    return lambda pixels: function(pixels * levels + shift)


class KerasNetwork:
    """A model of Keras on pixels; see :class:`.PixelNetwork`.

    Args:
        model: takes images preprocessed as ``preprocessing`` says; a classifier up to its logits.
        preprocessing: from uint8 images to the model's input; pixels in [0, 1] are these over 255.
        shape: of one input; the model's own if None.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessing: PreprocessingParams,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.shape = shape or tuple(int(n) for n in model.inputs[0].shape[1:])
        self.width = int(model.outputs[0].shape[-1])
        outputs = build_pixel_function(lambda x: model(x, training=False), preprocessing)
        images = tf.TensorSpec((None, *self.shape), tf.float32)
        self._outputs = tf.function(outputs, [images], autograph=False)

        def loss_gradient(pixels: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(pixels)
                loss = tf.nn.softmax_cross_entropy_with_logits(targets, outputs(pixels))
            return tape.gradient(loss, pixels)

        targets = tf.TensorSpec((None, None), tf.float32)
        self._loss_gradient = tf.function(loss_gradient, [images, targets], autograph=False)

    def outputs(self, pixels: Floats) -> Floats:
        """See :meth:`.PixelNetwork.outputs`."""
        found: Floats = self._outputs(pixels).numpy()
        return found

    def gradient(self, pixels: Floats, weigh: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """See :meth:`.PixelNetwork.gradient`."""
        given = tf.convert_to_tensor(pixels, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(given)
            found = self._outputs(given)
        outputs = found.numpy()
        weights = tf.constant(weigh(outputs), tf.float32)
        return outputs, tape.gradient(found, given, weights).numpy()

    def loss_gradient(self, pixels: Floats, targets: Floats) -> Floats:
        """See :meth:`.PixelNetwork.loss_gradient`."""
        gradient: Floats = self._loss_gradient(pixels, tf.cast(targets, tf.float32)).numpy()
        return gradient
