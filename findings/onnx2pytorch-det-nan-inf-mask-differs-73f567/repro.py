"""Det of a matrix with infinity."""
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
f (float[4,4] x) => (float y) { y = Det (x) }"""
x = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
x[3, 0] = np.inf
expected = np.linalg.det(x)
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x), torch.tensor(x[3, 0])).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
