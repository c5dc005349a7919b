"""Repairers: small models that turn a compressed model's outputs into the original's label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import options_by_name
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.models.onnx_graphs import GraphBuilder

Probabilities = NDArray[np.float32]
Labels = NDArray[np.int64]


class Repairer(ABC):
    """Learns from probability vectors of the compressed model and labels of the original.

    Args:
        options: the repairer's own.
        classes: how many classes the models tell apart.
        seed: the seed of everything random in the training.
    """

    #: The options that this repairer takes.
    Options: ClassVar[type[ParameterSection]]

    def __init__(self, options: Any, classes: int, seed: int) -> None:
        self.options = options
        self.classes = classes
        self.seed = seed

    @abstractmethod
    def fit(self, probabilities: Probabilities, labels: Labels) -> None:
        """Learn from probabilities and labels.

        Args:
            probabilities: outputs of the compressed model, float32 ``(N, K)``.
            labels: what the original says, int64 ``(N,)``, of at least two classes.
        """

    @abstractmethod
    def labels(self, probabilities: Probabilities) -> Labels:
        """Repaired labels, int64 ``(N,)``."""

    @abstractmethod
    def scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """Add the learnt computation to an ONNX graph.

        Args:
            graph: gets the nodes.
            probabilities: name of the value that holds the compressed model's outputs ``(N, K)``.

        Returns:
            Name of a value ``(N, C)`` float32, whose softmax are probabilities of the classes
            ``self.known_classes``.
        """

    @property
    @abstractmethod
    def known_classes(self) -> Labels:
        """The classes that occurred among the labels, ascending, int64 ``(C,)``."""


REPAIRERS: Registry[type[Repairer]] = Registry("repairer", "asterism.dflare.repairers")


def repairer_options(chosen: dict[str, dict[str, Any]]) -> dict[str, ParameterSection]:
    """The options of some repairers, by their names, as they declare them.

    Raises:
        UserError: no such repairer, or the options are none of its.
    """
    return options_by_name(REPAIRERS, chosen)


class ScikitLearnRepairer(Repairer):
    """Predicts labels from features of the probabilities by a classifier of scikit-learn."""

    _model: Any

    @abstractmethod
    def classifier(self, features: NDArray[np.float64], labels: Labels) -> Any:
        """The classifier that is to learn from these features and labels, before it has."""

    @abstractmethod
    def own_scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """Add the classifier to an ONNX graph.

        Args:
            graph: gets the nodes.
            probabilities: see :meth:`Repairer.scores`.

        Returns:
            Name of the value with its scores ``(N, C)``; of two classes ``(N, 1)``, the log odds of
            the second.
        """

    def fit(self, probabilities: Probabilities, labels: Labels) -> None:
        """See :meth:`Repairer.fit`."""
        features = self.features(probabilities)
        self._model = self.classifier(features, labels).fit(features, labels)

    def features(self, probabilities: Probabilities) -> NDArray[np.float64]:
        """What the classifier predicts from, one row for each input."""
        return probabilities.astype(np.float64)

    def labels(self, probabilities: Probabilities) -> Labels:
        """See :meth:`Repairer.labels`."""
        return np.asarray(self._model.predict(self.features(probabilities)), np.int64)

    def scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """See :meth:`Repairer.scores`; of two classes, a zero stands beside the one score."""
        own = self.own_scores(graph, probabilities)
        if len(self.known_classes) > 2:
            return own
        zeros = graph.add("Mul", own, graph.constant(np.array([0], np.float32)))
        return graph.add("Concat", zeros, own, axis=1)

    @property
    def known_classes(self) -> Labels:
        """See :attr:`Repairer.known_classes`."""
        return np.asarray(self._model.classes_, np.int64)


#: Probabilities below this count as this.
_SMALLEST = np.float32(1e-6)


def safe_log(probabilities: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of each probability, of the same shape and dtype."""
    logs: NDArray[Any] = np.log(np.maximum(probabilities, _SMALLEST))
    return logs


def add_logarithms(graph: GraphBuilder, probabilities: str) -> str:
    """Nodes that compute :func:`safe_log` of a float32 value; the name of their output."""
    floor = graph.constant(np.array([_SMALLEST], np.float32))
    return graph.add("Log", graph.add("Max", probabilities, floor))
