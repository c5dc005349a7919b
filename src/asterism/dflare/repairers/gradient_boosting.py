"""Gradient-boosted trees on the probability vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.repairers import (
    REPAIRERS,
    Labels,
    ScikitLearnRepairer,
)
from asterism.models.onnx_graphs import GraphBuilder


@REPAIRERS.register("gradient_boosting")
class GradientBoostingRepairer(ScikitLearnRepairer):
    """scikit-learn's histogram-based gradient boosting."""

    class Options(ParameterSection):
        """How many trees are grown, and how large."""

        rounds: int = Field(ge=1, description="trees for each class")
        learning_rate: float = Field(gt=0, description="share of each tree's answer that is added")
        leaves: int = Field(ge=2, description="leaves of a tree at most")

    def classifier(self, features: NDArray[np.float64], labels: Labels) -> Any:
        """See :meth:`ScikitLearnRepairer.classifier`."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=self.options.rounds,
            learning_rate=self.options.learning_rate,
            max_leaf_nodes=self.options.leaves,
            early_stopping=False,
            random_state=self.seed,
        )

    def own_scores(self, graph: GraphBuilder, probabilities: str) -> str:
        """See :meth:`ScikitLearnRepairer.own_scores`."""
        baseline = np.asarray(self._model._baseline_prediction, np.float64).ravel()
        table = _TreeTable()
        for trees in self._model._predictors:
            for target, tree in enumerate(trees):
                table.add(tree.nodes, target)
        attributes: dict[str, Any] = dict(table.attributes)
        return graph.add(
            "TreeEnsembleRegressor",
            probabilities,
            domain="ai.onnx.ml",
            n_targets=len(baseline),
            base_values=[float(value) for value in baseline],
            aggregate_function="SUM",
            post_transform="NONE",
            **attributes,
        )


class _TreeTable:
    """Trees in the columns that ONNX wants, all nodes of all trees below each other."""

    def __init__(self) -> None:
        self._trees = 0
        self.attributes: dict[str, list[Any]] = {
            name: []
            for name in (
                "nodes_treeids",
                "nodes_nodeids",
                "nodes_featureids",
                "nodes_values",
                "nodes_modes",
                "nodes_truenodeids",
                "nodes_falsenodeids",
                "target_treeids",
                "target_nodeids",
                "target_ids",
                "target_weights",
            )
        }

    def add(self, nodes: NDArray[Any], target: int) -> None:
        columns = self.attributes
        for number, node in enumerate(nodes):
            leaf = bool(node["is_leaf"])
            columns["nodes_treeids"].append(self._trees)
            columns["nodes_nodeids"].append(number)
            columns["nodes_featureids"].append(0 if leaf else int(node["feature_idx"]))
            columns["nodes_values"].append(0.0 if leaf else _rounded_down(node["num_threshold"]))
            columns["nodes_modes"].append("LEAF" if leaf else "BRANCH_LEQ")
            columns["nodes_truenodeids"].append(0 if leaf else int(node["left"]))
            columns["nodes_falsenodeids"].append(0 if leaf else int(node["right"]))
            if leaf:
                columns["target_treeids"].append(self._trees)
                columns["target_nodeids"].append(number)
                columns["target_ids"].append(target)
                columns["target_weights"].append(float(node["value"]))
        self._trees += 1


def _rounded_down(threshold: float) -> float:
    """The largest float32 that is no larger: float32 inputs fall on the same side of both."""
    rounded = np.float32(threshold)
    if float(rounded) > float(threshold):
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(rounded)
