"""Detectors: a box and the scores of two classes in each cell, as they are or suppressed."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from vetted_truth.fitting import logistic, ridge
from vetted_truth.heads import HEADS, Fitting, Output
from vetted_truth.networks import Array

#: Cells along a side, and pixels of a picture in a cell; the scene is ten times as large.
CELLS, STRIDE = 8, 4


def raw(made: Fitting) -> list[Output]:
    """One tensor ``(N, 6, 64)`` or ``(N, 64, 6)``: centre, size, scores of two classes."""
    _find_boxes(made)
    x = made.net.add("Concat", ["every_box", "every_score"], "/Concat", axis=1)
    sizes = [6, CELLS**2]
    role = "boxes, columns first"
    if made.rng.random() < 0.5:
        x = made.net.add("Transpose", [x], "/Transpose_out", perm=[0, 2, 1])
        sizes, role = sizes[::-1], "boxes"
    return [
        Output(made.finish(x, "detections" if made.rng.random() < 0.5 else "output0"), role, sizes)
    ]


def suppressed_together(made: Fitting) -> list[Output]:
    """One tensor ``(M, 6)``: corners, score, label of what is left."""
    _find_boxes(made)
    made.net.write("suppressed")
    return [Output(made.finish("joined", "detections"), "found", ["found", 6], batched=False)]


def suppressed_apart(made: Fitting) -> list[Output]:
    """``boxes`` ``(M, 4)``, ``scores`` ``(M,)`` and ``labels`` ``(M,)``."""
    _find_boxes(made)
    made.net.write("suppressed")
    del made.net.nodes[-3:]  # what joins them
    tensors = {"boxes": "corners", "scores": "kept_scores", "labels": "kept_labels"}
    names = [made.finish(tensor, meant) for meant, tensor in tensors.items()]
    return [
        Output(names[0], "found boxes", ["found", 4], batched=False),
        Output(names[1], "found scores", ["found"], batched=False),
        Output(names[2], "found labels", ["found"], TensorProto.INT64, batched=False),
    ]


def _find_boxes(made: Fitting) -> None:
    """``every_box`` ``(N, 4, 64)`` in the scene, and ``every_score`` ``(N, 2, 64)`` in [0, 1]."""
    net = made.net
    values = net.values(made.features, made.feed)
    n, size = values.shape[:2]
    rows = values.reshape(n, size, -1).transpose(0, 2, 1).reshape(-1, size).astype(np.float64)
    there, offsets = _targets(made.items.facts["boxes"], made.items.facts["classes"])
    marked = there.any(axis=1)
    fitted = {
        "scores": logistic(rows, there, softmax=False),
        "boxes": ridge(rows[marked], offsets[marked]),
    }
    for name, (weight, bias) in fitted.items():
        net.weighted("Conv", made.features, weight.T[:, :, None, None], bias, f"/{name}/Conv")
    y, x = np.mgrid[:CELLS, :CELLS] * STRIDE + STRIDE / 2
    zeros = np.zeros(CELLS**2)
    grid = np.stack([x.ravel(), y.ravel(), zeros, zeros])[np.newaxis]
    net.constant("grid", grid.astype(np.float32))
    net.write("boxes")


def _targets(boxes: Array, classes: Array) -> tuple[Array, Array]:
    """For each cell whose middle is near a thing's: its class, its offset and its size."""
    n = len(boxes)
    there, offsets = np.zeros((n, CELLS**2, 2)), np.zeros((n, CELLS**2, 4))
    middles = np.arange(CELLS) * STRIDE + STRIDE / 2
    for i, j in np.argwhere(classes >= 0):
        cx, cy, w, h = boxes[i, j]
        for row in np.flatnonzero(np.abs(middles - cy) <= STRIDE / 2):
            for column in np.flatnonzero(np.abs(middles - cx) <= STRIDE / 2):
                cell = row * CELLS + column
                there[i, cell, classes[i, j]] = 1
                offsets[i, cell] = (cx - middles[column], cy - middles[row], w, h)
    return there.reshape(-1, 2), offsets.reshape(-1, 4)


HEADS["detections"] = (raw, "objects")
HEADS["detections found"] = (suppressed_together, "objects")
HEADS["detections apart"] = (suppressed_apart, "objects")
