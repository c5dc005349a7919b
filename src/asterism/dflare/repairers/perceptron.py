"""Drepair's repairer: a perceptron with a single hidden layer (Tian et al., section 5.5)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.repairers import (
    REPAIRERS,
    Labels,
    Probabilities,
    ScikitLearnRepairer,
)
from asterism.models.onnx_graphs import GraphBuilder


@REPAIRERS.register("perceptron")
class PerceptronRepairer(ScikitLearnRepairer):
    """A network with one hidden layer of rectified linear units on the probability vector."""

    class Options(ParameterSection):
        """How large the network is, and how it learns."""

        hidden_units: int = Field(ge=1, description="units of the hidden layer")
        learning_rate: float = Field(gt=0, description="of Adam; few inputs make few steps")
        epochs: int = Field(ge=1, description="passes over the inputs at most")

    def fit(self, probabilities: Probabilities, labels: Labels) -> None:
        """See :meth:`Repairer.fit`."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is the limit
            super().fit(probabilities, labels)

    def classifier(self, features: NDArray[np.float64], labels: Labels) -> Any:
        """See :meth:`ScikitLearnRepairer.classifier`."""
        from sklearn.neural_network import MLPClassifier

        return MLPClassifier(
            (self.options.hidden_units,),
            learning_rate_init=self.options.learning_rate,
            max_iter=self.options.epochs,
            random_state=self.seed,
        )

    def own_scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """See :meth:`ScikitLearnRepairer.own_scores`."""
        (first, second), (bias, last_bias) = self._model.coefs_, self._model.intercepts_
        hidden = graph.add("Relu", _affine(graph, probabilities, first, bias))
        return _affine(graph, hidden, second, last_bias)


def _affine(graph: GraphBuilder, value: str, weights: object, bias: object) -> str:
    product = graph.add("MatMul", value, graph.constant(np.asarray(weights, np.float32)))
    return graph.add("Add", product, graph.constant(np.asarray(bias, np.float32)))
