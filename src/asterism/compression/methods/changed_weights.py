"""Changing weights at random: no compression, but a deviation whose size is known.

The Dflare paper changes 10 to 50% of a model's weights by ±10%, and correlates the share with the
effort that a search takes (figure 5).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import stream
from asterism.models.keras_models.reading import save_keras

if TYPE_CHECKING:
    import keras


@COMPRESSORS.register("changed_weights")
class ChangedWeights(Compressor):
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
