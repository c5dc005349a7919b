"""A Keras regressor as the Adversarial Robustness Toolbox (ART) sees it, on pixels in [0, 1]."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from art.estimators.regression import RegressorMixin
from art.estimators.tensorflow import TensorFlowV2Estimator

from asterism.attacks.attack import Floats, Victims
from asterism.attacks.estimator import on_pixels
from asterism.models.keras_models.preprocessing import PreprocessingParams


class PixelRegressor(RegressorMixin, TensorFlowV2Estimator):  # type: ignore[misc]  # ART is untyped
    """Output and gradients of a Keras regressor with one output, for pixels in [0, 1].

    Args:
        model: takes images preprocessed as ``preprocessing`` says.
        preprocessing: from uint8 images to the model's input; pixels in [0, 1] are these over 255.
    """

    def __init__(self, model: keras.Model, preprocessing: PreprocessingParams) -> None:
        self._shape = tuple(int(n) for n in model.inputs[0].shape[1:])
        output = on_pixels(lambda x: model(x, training=False)[:, 0], preprocessing)

        def loss_gradient(pixels: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(pixels)
                loss = tf.abs(output(pixels) - targets)
            return tape.gradient(loss, pixels)

        images = tf.TensorSpec((None, *self._shape), tf.float32)
        targets = tf.TensorSpec((None,), tf.float32)
        self._output = tf.function(output, [images], autograph=False)
        self._loss_gradient = tf.function(loss_gradient, [images, targets], autograph=False)
        super().__init__(model=model, clip_values=(0.0, 1.0), channels_first=False)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one input."""
        return self._shape

    def aim(self, victims: Victims) -> Floats:
        """The outputs to get away from, float32 ``(N,)``."""
        return victims.labels.astype(np.float32)

    def predict(self, x: Floats, batch_size: int = 128, **_: Any) -> Floats:
        """Outputs ``(N,)`` of pixels ``(N, H, W, C)``."""
        parts = [self._output(x[i : i + batch_size]).numpy() for i in range(0, len(x), batch_size)]
        return np.concatenate(parts)

    def loss_gradient(self, x: Floats, y: Floats, **_: Any) -> Floats:
        """Gradient of the distance of each output from ``y``, ``(N, H, W, C)``."""
        gradient: Floats = self._loss_gradient(x, tf.cast(y, tf.float32)).numpy()
        return gradient

    def get_activations(self, x: Floats, *_: Any, **__: Any) -> Floats:
        """Not asked for by any attack here."""
        raise NotImplementedError

    def compute_loss(self, x: Floats, y: Floats, **_: Any) -> Floats:
        """Distance of each output from ``y``."""
        distance: Floats = np.abs(self.predict(x) - y)
        return distance
