"""Repairers whose label is the prediction of a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.repairers import Labels, Probabilities, Repairer


class ScikitLearnRepairer(Repairer):
    """Predicts labels from features of the probabilities; :meth:`fit` makes the classifier."""

    _model: Any

    def features(self, probabilities: Probabilities) -> NDArray[np.float64]:
        """What the classifier predicts from, one row for each input."""
        return probabilities.astype(np.float64)

    def labels(self, probabilities: Probabilities) -> Labels:
        """See :meth:`Repairer.labels`."""
        return np.asarray(self._model.predict(self.features(probabilities)), np.int64)

    @property
    def known_classes(self) -> Labels:
        """See :attr:`Repairer.known_classes`."""
        return np.asarray(self._model.classes_, np.int64)
