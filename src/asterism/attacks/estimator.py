"""Keras models as the Adversarial Robustness Toolbox (ART) sees them, on pixels in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from art.estimators.classification import TensorFlowV2Classifier
from art.estimators.regression import RegressorMixin
from art.estimators.tensorflow import TensorFlowV2Estimator
from numpy.typing import NDArray

from asterism.attacks.attack import AttackSeeds, Floats, Ints
from asterism.attacks.pixels import as_pixels
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.layers.logits import up_to_logits

#: Images that are looked at at once.
_BATCH = 512


def on_pixels(
    function: Callable[[Any], Any], preprocessing: PreprocessingParams
) -> Callable[[Any], Any]:
    """A function of a model's input as one of pixels in [0, 1]."""
    factor, shift = preprocessing.affine()
    levels, shift = (255 * factor).astype(np.float32), shift.astype(np.float32)
    return lambda pixels: function(pixels * levels + shift)


class PixelEstimator(TensorFlowV2Classifier):  # type: ignore[misc]  # ART ships no types
    """Logits and gradients of a Keras classifier for pixels in [0, 1].

    ART's own estimator runs the model once per class that occurs in a batch, operation by
    operation. Here one compiled graph per question answers for the whole batch; the attacks ask
    nothing else of an estimator.

    Args:
        model: a classifier that takes images preprocessed as ``preprocessing`` says.
        preprocessing: from uint8 images to the model's input; pixels in [0, 1] are these over 255.
        shape: of one input; the model's own if None.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessing: PreprocessingParams,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        if shape is None:
            shape = tuple(int(n) for n in model.inputs[0].shape[1:])
        classes = int(model.outputs[0].shape[-1])
        logits = up_to_logits(model)
        scores = on_pixels(lambda x: logits(x, training=False), preprocessing)

        def class_gradient(pixels: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(pixels)
                chosen = tf.gather(scores(pixels), labels, batch_dims=1)
            return tape.gradient(chosen, pixels)

        def loss_gradient(pixels: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(pixels)
                loss = tf.nn.softmax_cross_entropy_with_logits(targets, scores(pixels))
            return tape.gradient(loss, pixels)

        def lead(pixels: Any, labels: Any, weights: Any, margin: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(pixels)
                found = scores(pixels)
                others = tf.where(tf.one_hot(labels, classes) > 0, -np.inf, found)
                by = tf.gather(found, labels, batch_dims=1) - tf.reduce_max(others, axis=1)
                loss = weights * tf.nn.relu(by + margin)
            return by, tape.gradient(loss, pixels)

        images = tf.TensorSpec((None, *shape), tf.float32)
        labels = tf.TensorSpec((None,), tf.int64)
        targets = tf.TensorSpec((None, None), tf.float32)
        self._scores = tf.function(scores, [images], autograph=False)
        rows, number = tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.float32)
        self._lead = tf.function(lead, [images, labels, rows, number], autograph=False)
        self._class_gradient = tf.function(class_gradient, [images, labels], autograph=False)
        self._loss_gradient = tf.function(loss_gradient, [images, targets], autograph=False)
        super().__init__(model, classes, shape, clip_values=(0.0, 1.0))

    def aim(self, victims: AttackSeeds) -> Floats:
        """The classes to get away from, one-hot, float32 ``(N, classes)``."""
        one_hot: Floats = np.eye(self.nb_classes, dtype=np.float32)[victims.labels]
        return one_hot

    def predict(self, x: Floats, batch_size: int = 128, **_: Any) -> Floats:
        """Logits ``(N, classes)`` of pixels ``(N, H, W, C)``."""
        parts = [self._scores(x[i : i + batch_size]).numpy() for i in range(0, len(x), batch_size)]
        return np.concatenate(parts)

    def correct(self, images: NDArray[np.uint8], labels: Ints) -> Ints:
        """Positions of the images that are put into their classes ``(N,)``, batch by batch."""
        parts = [
            self.predict(as_pixels(images[start : start + _BATCH])).argmax(axis=1)
            for start in range(0, len(images), _BATCH)
        ]
        return np.flatnonzero(np.concatenate(parts) == labels)

    def class_gradient(self, x: Floats, label: Any = None, **_: Any) -> Floats:
        """Gradient of each input's logit ``label``, ``(N, 1, H, W, C)``."""
        labels = np.broadcast_to(np.asarray(label, np.int64), len(x))
        gradient: Floats = self._class_gradient(x, labels).numpy()[:, None]
        return gradient

    def lead(
        self, x: Floats, labels: Ints, weights: Floats, margin: float
    ) -> tuple[Floats, Floats]:
        """By how much a class's logit leads those of all others, and what lowers that.

        Args:
            x: pixels ``(N, H, W, C)``.
            labels: the class of each, ``(N,)``.
            weights: of each input's lead in the loss, float32 ``(N,)``.
            margin: by which another class is to lead in the end.

        Returns:
            The lead ``(N,)``, below 0 where another class leads, and the gradient
            ``(N, H, W, C)`` of ``weights * max(0, lead + margin)``.
        """
        by, gradient = self._lead(x, labels, weights, np.float32(margin))
        return by.numpy(), gradient.numpy()

    def loss_gradient(self, x: Floats, y: Floats, **_: Any) -> Floats:
        """Gradient of the cross-entropy of one-hot ``y``, ``(N, H, W, C)``."""
        gradient: Floats = self._loss_gradient(x, tf.cast(y, tf.float32)).numpy()
        return gradient


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

    def aim(self, victims: AttackSeeds) -> Floats:
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
