"""Gather along the last axis, written as -1, gathers along the first."""
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
f (float[3,2] x) => (float[3,1] y) <int64[1] i = {1}> { y = Gather <axis=-1> (x, i) }"""
x = np.array([[1, 2], [3, 4], [5, 6]], "float32")
expected = x[:, [1]]
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
