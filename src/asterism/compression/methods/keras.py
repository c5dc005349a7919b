"""Keras' own means: 8-bit quantisation, and knowledge distillation (Hinton et al., 2015).

Weights can also be changed at random: no compression, but a deviation whose size is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import named
from asterism.core.random_streams import stream
from asterism.models.architectures import build_architecture
from asterism.models.keras_models.reading import save_keras
from asterism.models.params import TrainingParams
from asterism.models.training.fitting import compile_for, fit_model

if TYPE_CHECKING:
    import keras


@COMPRESSORS.register("keras_int8")
class KerasInt8(Compressor):
    """``model.quantize("int8")``: 8-bit weights of the layers that Keras can quantise."""

    suffix: ClassVar[str] = ".keras"

    @staticmethod
    def compress(
        model: keras.Model, options: NoOptions, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        model.quantize("int8")
        save_keras(model, target)


_SMALLEST = 1e-7  # of a probability, before its logarithm


@COMPRESSORS.register("distillation")
class Distillation(Compressor):
    """A smaller student learns the original's softened outputs and the labels."""

    suffix: ClassVar[str] = ".keras"

    class Options(ParameterSection):
        """The student and its lessons."""

        student: Annotated[str, named("asterism.models.architectures:ARCHITECTURES")] = Field(
            description="its architecture, by name"
        )
        temperature: float = Field(gt=0, description="softens the outputs of both")
        alpha: float = Field(ge=0, le=1, description="weight of the labels; the rest is imitation")
        training: TrainingParams

    @staticmethod
    def compress(
        model: keras.Model, options: Options, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        import keras

        student = build_student(options.student, training, int(model.output_shape[-1]))
        distiller = keras.distillation.Distiller(
            teacher=_with_logits(model),
            student=_with_logits(student),
            distillation_losses=keras.distillation.LogitsDistillation(options.temperature),
            student_loss_weight=options.alpha,
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        compile_for(distiller, options.training, loss, metrics=())
        fit_model(distiller, training.inputs, training.labels, options.training)
        save_keras(student, target)


def build_student(architecture: str, training: TrainingData, classes: int) -> keras.Model:
    """An untrained student for the training images."""
    height, width, channels = training.inputs.shape[1:]
    return build_architecture(architecture, (height, width, channels), classes, key="student")


def _with_logits(model: keras.Model) -> keras.Model:
    """The model with logits in place of its softmax.

    The logarithms of probabilities are logits of the very same softmax, whichever way the model
    ends in it.
    """
    import keras

    log = keras.ops.log(keras.ops.maximum(model.outputs[0], _SMALLEST))
    return keras.Model(model.inputs, log, name=f"{model.name}_logits")


@COMPRESSORS.register("changed_weights")
class WeightPerturbation(Compressor):
    """A share of all weights grows or shrinks by a part of itself."""

    suffix: ClassVar[str] = ".keras"

    class Options(ParameterSection):
        """How many weights change, and by how much."""

        share: float = Field(gt=0, le=1, description="share of the weights that change")
        amount: float = Field(gt=0, lt=1, description="by which part of itself each of them does")

    @staticmethod
    def compress(
        model: keras.Model, options: Options, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        rng = stream(training.seed, "compress", "changed_weights")
        for variable in model.trainable_variables:
            weight = variable.numpy()
            # Both draws do not depend on the share: a larger one changes further weights.
            chosen = rng.random(weight.shape) < options.share
            sign = np.where(rng.random(weight.shape) < 0.5, -1.0, 1.0)
            factor = np.where(chosen, 1 + options.amount * sign, 1.0)
            variable.assign((weight * factor).astype(weight.dtype))
        save_keras(model, target)
