"""Resize to the nearest with aligned corners fails."""
import sys

import numpy as np
import onnx.parser
import torch

try:
    import torchvision  # which the converter imports for other operators
except RuntimeError:  # it does not fit this PyTorch: its import looks for these two names
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
import onnx2pytorch
MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[4] s = {1, 1, 4, 4}> {
   y = Resize <coordinate_transformation_mode="align_corners", mode="nearest"> (x, "", "", s) }"""
x = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
expected = x.repeat(2, 2).repeat(2, 3)
print("expected", expected.tolist())
try:
    actual = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))(torch.tensor(x))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
