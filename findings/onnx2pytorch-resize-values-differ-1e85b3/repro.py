"""Resize to the nearest: PyTorch has another rule, as the converter warns."""
import sys

import numpy as np
import onnx.parser
import torch
from onnx.reference import ReferenceEvaluator

try:
    import torchvision  # which the converter imports for other operators
except RuntimeError:  # it does not fit this PyTorch: its import looks for these two names
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
import onnx2pytorch

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,4,4] x) => (float[1,1,3,3] y) <int64[4] s = {1, 1, 3, 3}> {
   y = Resize <coordinate_transformation_mode="half_pixel", mode="nearest"> (x, "", "", s) }"""
x = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
expected = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, {"x": x})[0]
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
