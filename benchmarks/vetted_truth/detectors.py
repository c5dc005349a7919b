"""Detectors: a box and the scores of two classes in each cell, as they are or suppressed."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from vetted_truth.fitting import logistic, ridge
from vetted_truth.heads import HEADS, Fitting, Output
from vetted_truth.networks import Array

#: Cells along a side, pixels of a picture in a cell, and pixels of the scene in one of a picture.
CELLS, STRIDE, ZOOM = 8, 4, 10.0


def raw(made: Fitting) -> list[Output]:
    """One tensor ``(N, 6, 64)`` or ``(N, 64, 6)``: centre, size, scores of two classes."""
    boxes, scores = _boxes_and_scores(made)
    x = made.net.add("Concat", [boxes, scores], "/Concat", axis=1)
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
    boxes, scores, labels = _suppressed(made)
    net = made.net
    columns = net.constant("column", np.array([1], np.int64))
    score = net.add("Unsqueeze", [scores, columns], "/Unsqueeze_score")
    label = net.add(
        "Cast", [net.add("Unsqueeze", [labels, columns], "/Unsqueeze_label")], "/Cast", to=1
    )
    x = net.add("Concat", [boxes, score, label], "/Concat_out", axis=1)
    return [Output(made.finish(x, "detections"), "found", ["found", 6], batched=False)]


def suppressed_apart(made: Fitting) -> list[Output]:
    """``boxes`` ``(M, 4)``, ``scores`` ``(M,)`` and ``labels`` ``(M,)``."""
    tensors = _suppressed(made)
    names = [made.finish(x, n) for x, n in zip(tensors, ("boxes", "scores", "labels"), strict=True)]
    return [
        Output(names[0], "found boxes", ["found", 4], batched=False),
        Output(names[1], "found scores", ["found"], batched=False),
        Output(names[2], "found labels", ["found"], TensorProto.INT64, batched=False),
    ]


def _boxes_and_scores(made: Fitting) -> tuple[str, str]:
    """``(N, 4, 64)`` in pixels of the scene, and ``(N, 2, 64)`` in [0, 1]."""
    net = made.net
    values = net.values(made.features, made.feed)
    n, size = values.shape[:2]
    rows = values.reshape(n, size, -1).transpose(0, 2, 1).reshape(-1, size).astype(np.float64)
    there, offsets = _targets(made.items.facts["boxes"], made.items.facts["classes"])
    weight, bias = logistic(rows, there, softmax=False)
    marked = there.any(axis=1)
    box, middle = ridge(rows[marked], offsets[marked])

    def head(w: Array, b: Array, name: str, channels: int) -> str:
        x = net.weighted("Conv", made.features, w.T[:, :, None, None], b, f"/{name}/Conv")
        shape = net.constant(f"{name}.shape", np.array([0, channels, -1], np.int64))
        return net.add("Reshape", [x, shape], f"/{name}/Reshape")

    scores = net.add("Sigmoid", [head(weight, bias, "scores", 2)], "/Sigmoid")
    y, x = np.mgrid[:CELLS, :CELLS] * STRIDE + STRIDE / 2
    zeros = np.zeros(CELLS**2)
    grid = np.stack([x.ravel(), y.ravel(), zeros, zeros])[np.newaxis].astype(np.float32)
    moved = net.add(
        "Add", [head(box, middle, "boxes", 4), net.constant("grid", grid)], "/boxes/Add"
    )
    zoom = net.constant("zoom", np.float32(ZOOM))
    return net.add("Mul", [moved, zoom], "/boxes/Mul"), scores


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


def _suppressed(made: Fitting) -> tuple[str, str, str]:
    """Corners, scores and labels of what non-maximum suppression leaves of one picture."""
    net = made.net
    boxes, scores = _boxes_and_scores(made)
    turned = net.add("Transpose", [boxes], "/Transpose_boxes", perm=[0, 2, 1])
    constants = [np.array([10], np.int64), np.array([0.4], np.float32), np.array([0.3], np.float32)]
    limits = [net.constant(f"nms.{i}", value) for i, value in enumerate(constants)]
    kept = net.add("NonMaxSuppression", [turned, scores, *limits], "/NMS", center_point_box=1)
    column = [net.constant(f"column.{i}", np.array(i, np.int64)) for i in (1, 2)]
    labels, cells = (net.add("Gather", [kept, c], f"/Gather_{c}", axis=1) for c in column)
    first = net.constant("first", np.array([0], np.int64))
    flat = net.add("Squeeze", [turned, first], "/Squeeze_boxes")
    chosen = net.add("Gather", [flat, cells], "/Gather_boxes", axis=0)
    corners = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]])
    matrix = net.constant("corners", corners.astype(np.float32))
    found = net.add("MatMul", [chosen, matrix], "/corners/MatMul")
    one = net.constant("last", np.array([1], np.int64))
    places = [
        net.add("Unsqueeze", [x, one], f"/Unsqueeze_{i}") for i, x in enumerate((labels, cells))
    ]
    where = net.add("Concat", places, "/Concat_places", axis=1)
    table = net.add("Squeeze", [scores, first], "/Squeeze_scores")
    return found, net.add("GatherND", [table, where], "/GatherND"), labels


HEADS["detections"] = (raw, "objects")
HEADS["detections found"] = (suppressed_together, "objects")
HEADS["detections apart"] = (suppressed_apart, "objects")
