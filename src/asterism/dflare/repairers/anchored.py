"""A repairer that corrects the compressed model's own answer as little as the inputs allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.repairers import (
    REPAIRERS,
    Labels,
    Probabilities,
    Repairer,
    add_logarithms,
    safe_log,
)
from asterism.models.onnx_graphs import GraphBuilder

_ITERATIONS = 200


@REPAIRERS.register("anchored")
class AnchoredRepairer(Repairer):
    """Softmax regression on logits, with weights that are regularised towards the identity.

    Among the inputs to learn from every second one deviates, in use hardly any: a repairer that
    takes the one for the other breaks more than it repairs. So the deviating inputs count as a
    given share of all, and where there is little to learn from, the model's answer stands.
    """

    class Options(ParameterSection):
        """How close the regression stays to the model."""

        strength: float = Field(gt=0, description="of the pull towards the model's own answer")
        deviating_share: float = Field(
            gt=0, lt=1, description="weight of all deviating inputs together"
        )

    def fit(self, probabilities: Probabilities, labels: Labels) -> None:
        """See :meth:`Repairer.fit`."""
        from scipy.optimize import minimize
        from scipy.special import log_softmax

        logits = _logits(probabilities)
        features = np.concatenate([logits, np.ones((len(logits), 1))], axis=1)
        right = np.arange(self.classes) == labels[:, np.newaxis]
        weights = self._weights(probabilities.argmax(axis=1) != labels)[:, np.newaxis]
        shape = (self.classes + 1, self.classes)

        def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            correction = values.reshape(shape)
            log = log_softmax(logits + features @ correction, axis=1)
            gradient = features.T @ ((np.exp(log) - right) * weights)
            gradient += self.options.strength * correction
            penalty = self.options.strength / 2 * float((correction**2).sum())
            return penalty - float((log * right * weights).sum()), gradient.ravel()

        found = minimize(
            loss,
            np.zeros(shape).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS},
        )
        self._correction = found.x.reshape(shape) + np.eye(*shape)

    def labels(self, probabilities: Probabilities) -> Labels:
        """See :meth:`Repairer.labels`."""
        scores = _logits(probabilities) @ self._correction[:-1] + self._correction[-1]
        return np.asarray(scores.argmax(axis=1), np.int64)

    @property
    def known_classes(self) -> Labels:
        """All classes: one that no input showed keeps the model's own score."""
        return np.arange(self.classes)

    def scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """See :meth:`Repairer.scores`."""
        logs = add_logarithms(graph, probabilities)
        # Subtracting the mean is a linear map, so it goes into the weights.
        centring = np.eye(self.classes) - 1 / self.classes
        weights = (centring @ self._correction[:-1]).astype(np.float32)
        product = graph.add("MatMul", logs, graph.constant(weights))
        bias = graph.constant(self._correction[-1].astype(np.float32))
        return graph.add("Add", product, bias)

    def _weights(self, deviating: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Weights of the inputs, of sum 1 where there are both kinds."""
        share = self.options.deviating_share
        of_deviating = share / max(1, int(deviating.sum()))
        of_agreeing = (1 - share) / max(1, int((~deviating).sum()))
        weights: NDArray[np.float64] = np.where(deviating, of_deviating, of_agreeing)
        return weights


def _logits(probabilities: Probabilities) -> NDArray[np.float64]:
    """Logarithms, of mean 0 for each input."""
    logs = safe_log(probabilities).astype(np.float64)
    centred: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
    return centred
