"""Sign of NaN is 0."""
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
f (float[2] x) => (float[2] y) { y = Sign (x) }"""
x = np.array([np.nan, 1], "float32")
expected = np.sign(x)
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
