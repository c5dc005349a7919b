"""A repaired model as a file: the compressed model's outputs in, repaired outputs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper

from asterism.core.artifacts import replacing
from asterism.dflare.onnx_graph import OPSET, GraphBuilder
from asterism.dflare.pair import Model
from asterism.dflare.repairers import Repairer

Outputs = NDArray[np.float32]


def write_head(repairer: Repairer, path: Path, opset: int = OPSET) -> None:
    """Write a trained repairer as ONNX.

    Input ``probabilities`` float32 ``(N, K)``: outputs of the compressed model. Outputs
    ``repaired`` float32 ``(N, K)``, probabilities after repair, and ``label`` int64 ``(N,)``.
    """
    _write(_head(repairer, opset), path)


def _head(repairer: Repairer, opset: int, logits: bool = False) -> Any:
    graph = GraphBuilder()
    value = "probabilities"
    if logits:
        value = graph.add("Softmax", value, axis=1)
    scores = graph.add("Softmax", repairer.scores(graph, value), axis=1)
    # Classes that the repairer never met have probability 0.
    spread = np.zeros((len(repairer.known_classes), repairer.classes), np.float32)
    spread[np.arange(len(spread)), repairer.known_classes] = 1
    graph.add_named("MatMul", [scores, graph.constant(spread)], "repaired")
    graph.add_named("ArgMax", ["repaired"], "label", axis=1, keepdims=0)
    classes = repairer.classes
    return graph.model(
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", classes])],
        [
            helper.make_tensor_value_info("repaired", TensorProto.FLOAT, ["N", classes]),
            helper.make_tensor_value_info("label", TensorProto.INT64, ["N"]),
        ],
        opset,
    )


def write_fused(compressed: Path, repairer: Repairer, path: Path, logits: bool) -> None:
    """Write an ONNX compressed model and its repairer as one file.

    Args:
        compressed: the compressed model, ``.onnx``.
        repairer: trained.
        path: where to.
        logits: whether the compressed model gives logits, so that it needs a softmax first.
    """
    body = onnx.load(compressed)
    opset = next(entry.version for entry in body.opset_import if entry.domain in ("", "ai.onnx"))
    head = _head(repairer, opset, logits)
    head.ir_version = body.ir_version
    versions = {entry.domain: entry.version for entry in body.opset_import}
    for entry in head.opset_import:  # the head's operators mean the same in all versions
        entry.version = versions.get(entry.domain, entry.version)
    fused = compose.merge_models(body, head, io_map=[(body.graph.output[0].name, "probabilities")])
    _write(fused, path)


def _write(model: Any, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


class RepairedModel:
    """A compressed model with its repairer behind it, run as it would be deployed.

    Args:
        compressed: the compressed model.
        head: a file of :func:`write_head`.
    """

    def __init__(self, compressed: Model, head: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            head, options, providers=["CPUExecutionProvider"]
        )
        self._compressed = compressed
        self.name = f"{compressed.name}, repaired"

    def predict(self, items: Any) -> Outputs:
        """Repaired probabilities, float32 ``(N, K)``."""
        return self.repair(self._compressed.predict(items))

    def repair(self, probabilities: Outputs) -> Outputs:
        """Repaired probabilities from those of the compressed model, float32 ``(N, K)``."""
        outputs: Outputs = self._session.run(["repaired"], {"probabilities": probabilities})[0]
        return outputs
