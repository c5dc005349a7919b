"""Logistic regression on logits and top-k margins, regularised so that it is well calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.repairers import (
    REPAIRERS,
    Labels,
    Probabilities,
    ScikitLearnRepairer,
    add_logarithms,
    safe_log,
)
from asterism.models.onnx_graphs import GraphBuilder

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

_PARTS = 3


@REPAIRERS.register("logistic")
class LogisticRepairer(ScikitLearnRepairer):
    """Logistic regression on logarithms of probabilities and differences of the k largest.

    The strength of regularisation is chosen by the logarithmic loss of a cross-validation, which
    is smallest for calibrated probabilities.
    """

    class Options(ParameterSection):
        """Margins, and what the regularisation is chosen from."""

        top_k: int = Field(ge=2, description="how many of the largest probabilities give margins")
        strengths: list[Annotated[float, Field(gt=0)]] = Field(
            min_length=1, description="inverse regularisation to try"
        )

    def fit(self, probabilities: Probabilities, labels: Labels) -> None:
        """See :meth:`Repairer.fit`."""
        features = self._features(probabilities)
        self._mean = features.mean(axis=0)
        self._scale = np.maximum(features.std(axis=0), 1e-6)
        super().fit(probabilities, labels)

    def classifier(self, features: NDArray[np.float64], labels: Labels) -> LogisticRegression:
        """The regression with the strength of regularisation that loses least."""
        losses = [self._loss(strength, features, labels) for strength in self.options.strengths]
        return _regression(self.options.strengths[int(np.argmin(losses))])

    def features(self, probabilities: Probabilities) -> NDArray[np.float64]:
        """Logarithms and margins, of mean 0 and deviation 1 on what it has learnt from."""
        standard: NDArray[np.float64] = (self._features(probabilities) - self._mean) / self._scale
        return standard

    def own_scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """See :meth:`ScikitLearnRepairer.own_scores`."""
        logits = add_logarithms(graph, probabilities)
        k = graph.constant(np.array([self._k], np.int64))
        top, _ = graph.add_all("TopK", 2, probabilities, k)
        margins = graph.add("Sub", _columns(graph, top, 0, -1), _columns(graph, top, 1, self._k))
        features = graph.add("Concat", logits, margins, axis=1)
        weights = self._model.coef_ / self._scale
        bias = self._model.intercept_ - weights @ self._mean
        product = graph.add("MatMul", features, graph.constant(weights.T.astype(np.float32)))
        return graph.add("Add", product, graph.constant(bias.astype(np.float32)))

    @property
    def _k(self) -> int:
        return min(int(self.options.top_k), self.classes)

    def _features(self, probabilities: Probabilities) -> NDArray[np.float64]:
        top = -np.sort(-probabilities, axis=1)[:, : self._k]
        logits = safe_log(probabilities)
        return np.concatenate([logits, top[:, :-1] - top[:, 1:]], axis=1).astype(np.float64)

    def _loss(self, strength: float, features: NDArray[np.float64], labels: Labels) -> float:
        """Logarithmic loss on held-out parts; infinite where no part can be learnt from."""
        from sklearn.model_selection import KFold

        parts = KFold(min(_PARTS, len(labels)), shuffle=True, random_state=self.seed)
        losses = []
        for learn, held_out in parts.split(features):
            if len(np.unique(labels[learn])) < 2:
                continue
            model = _regression(strength).fit(features[learn], labels[learn])
            known = np.isin(labels[held_out], model.classes_)
            if known.any():
                column = np.searchsorted(model.classes_, labels[held_out][known])
                probabilities = model.predict_proba(features[held_out][known])
                right = probabilities[np.arange(len(column)), column]
                losses.append(-safe_log(right).mean())
        return float(np.mean(losses)) if losses else float("inf")


def _regression(strength: float) -> LogisticRegression:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=300)


def _columns(graph: GraphBuilder, value: str, start: int, end: int) -> str:
    bounds = [graph.constant(np.array([n], np.int64)) for n in (start, end, 1)]
    return graph.add("Slice", value, *bounds)
