"""A repaired model as a file: the compressed model's outputs in, repaired outputs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper
from onnx.version_converter import convert_version

from asterism.core.files.artifacts import replacing
from asterism.dflare.pair import Model
from asterism.dflare.repairers import Repairer
from asterism.models.foreign.onnx_files import read_onnx
from asterism.models.formats.onnx import open_session
from asterism.models.onnx_graphs import GraphBuilder, own_opset

Outputs = NDArray[np.float32]

#: Operators and file format of a head: what ONNX Runtime of today and of a few years ago reads.
_OPSET, _ML_OPSET, _IR_VERSION = 13, 3, 8
#: Since then the sizes that the head's operators take are inputs, as a repairer writes them.
_OLDEST_OPSET = 10
#: Rows that fill ONNX Runtime's vectors, whatever the number of classes.
_FULL = 16


def write_head(repairer: Repairer, path: Path, logits: bool = False) -> None:
    """Write a trained repairer as ONNX, to run after the compressed model's file.

    Input ``probabilities`` float32 ``(N, K)``, the file's own outputs; it is called ``logits`` for
    a file that gives those. Outputs ``repaired`` float32 ``(N, K)``, probabilities after repair,
    and ``label`` int64 ``(N,)``.

    Args:
        repairer: trained.
        path: where to.
        logits: whether the compressed model's file gives logits, so that they need a softmax first.
    """
    with replacing(path) as temporary:
        head = _head(repairer, logits=logits)
        temporary.write_bytes(head.SerializeToString(deterministic=True))


def _head(
    repairer: Repairer,
    *,
    logits: bool = False,
    opset: int = _OPSET,
    element: int = TensorProto.FLOAT,
) -> Any:
    """The repairer as a model whose inputs have elements of this type of ONNX."""
    graph = GraphBuilder("repair", merged=True)
    given = "logits" if logits else "probabilities"
    value = given
    if element != TensorProto.FLOAT:
        value = graph.add("Cast", value, to=TensorProto.FLOAT)
    if logits:
        value = graph.add("Softmax", value, axis=1)
    scores = graph.add("Softmax", repairer.scores(graph, value), axis=1)
    # Classes that the repairer never met have probability 0.
    spread = np.zeros((len(repairer.known_classes), repairer.classes), np.float32)
    spread[np.arange(len(spread)), repairer.known_classes] = 1
    repaired = graph.add("MatMul", scores, graph.constant(spread), named="repaired")
    graph.add("ArgMax", repaired, named="label", axis=1, keepdims=0)
    classes = repairer.classes
    return graph.model(
        [helper.make_tensor_value_info(given, element, ["N", classes])],
        [
            helper.make_tensor_value_info("repaired", TensorProto.FLOAT, ["N", classes]),
            helper.make_tensor_value_info("label", TensorProto.INT64, ["N"]),
        ],
        {"": opset, "ai.onnx.ml": _ML_OPSET},
        _IR_VERSION,
    )


def write_fused(compressed: Path, repairer: Repairer, path: Path, logits: bool) -> str:
    """Write an ONNX compressed model and its repairer as one file.

    Args:
        compressed: the compressed model, ``.onnx``.
        repairer: trained.
        path: where to; the file is there only if ONNX Runtime opens it.
        logits: whether the compressed model gives logits, so that it needs a softmax first.

    Returns:
        Why there is no such file; empty where there is one.
    """
    try:
        body = read_onnx(compressed)
        if own_opset(body) < _OLDEST_OPSET:
            body = convert_version(body, _OPSET)
        fused = _fuse(body, repairer, logits)
        with replacing(path) as temporary:
            temporary.write_bytes(fused.SerializeToString(deterministic=True))
            open_session(temporary, str(path))
    except Exception as error:  # whatever a foreign graph makes ONNX and its runtime raise
        return " ".join(f"{compressed.name} and its repairer make no one file: {error}".split())
    return ""


def _fuse(body: Any, repairer: Repairer, logits: bool) -> Any:
    output = body.graph.output[0]
    element = output.type.tensor_type.elem_type
    head = _head(repairer, logits=logits, opset=own_opset(body), element=element)
    body.ir_version = head.ir_version = max(body.ir_version, head.ir_version)
    versions = {entry.domain: entry.version for entry in body.opset_import}
    for entry in head.opset_import:  # the head's operators mean the same in all versions
        entry.version = versions.get(entry.domain, entry.version)
    return compose.merge_models(body, head, io_map=[(output.name, head.graph.input[0].name)])


class RepairedModel:
    """A compressed model followed by its repairer, as it would be deployed.

    Args:
        compressed: the compressed model.
        repairer: trained.
    """

    def __init__(self, compressed: Model, repairer: Repairer) -> None:
        self._session = open_session(_head(repairer).SerializeToString(), "the repairer")
        self._compressed = compressed
        self.name = f"{compressed.name}, repaired"
        self.classes = compressed.classes

    def predict(self, items: Any) -> Outputs:
        """Repaired probabilities, float32 ``(N, K)``; a row is the same in every batch."""
        return self.repair(self._compressed.predict(items))

    def repair(self, probabilities: Outputs) -> Outputs:
        """Repaired probabilities from those of the compressed model, float32 ``(N, K)``.

        Where the compressed model gives NaN, there is nothing to repair: the row is NaN.
        """
        # ONNX Runtime computes what is left over of full vectors by other instructions, so that a
        # row's last bits depend on how many there are: without a rest they do not.
        rest = np.zeros((-len(probabilities) % _FULL, probabilities.shape[1]), np.float32)
        full = np.concatenate([probabilities, rest])
        outputs: Outputs = self._session.run(["repaired"], {"probabilities": full})[0]
        outputs = outputs[: len(probabilities)]
        outputs[np.isnan(probabilities).any(axis=1)] = np.nan
        return outputs
