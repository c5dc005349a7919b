"""PRelu with a slope of NaN makes positive numbers NaN."""
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
f (float[2] x, float[1] slope) => (float[2] y) { y = PRelu (x, slope) }"""
x = np.array([-1, 1], "float32")
slope = np.array([np.nan], "float32")
expected = np.where(x < 0, slope * x, x)
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x), torch.tensor(slope)).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
