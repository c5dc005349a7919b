"""ONNX models for tests, in ONNX's own textual form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser


def onnx_model(text: str, *, opset: int = 17, **constants: Any) -> onnx.ModelProto:
    """A model of ``(float[n,3] x) => (float[n,2] y) { y = MatMul (x, w) }``.

    Args:
        text: its inputs, outputs and nodes; a node may begin with its name in square brackets.
        opset: version of ONNX's operators.
        constants: arrays by the names that the nodes know them by.
    """
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\nnet {text}')
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(values), name) for name, values in constants.items()
    )
    onnx.checker.check_model(model)
    return model


def write_onnx(path: Path, text: str, *, opset: int = 17, **constants: Any) -> Path:
    """:func:`onnx_model` as a file."""
    onnx.save(onnx_model(text, opset=opset, **constants), path)
    return path
