"""MaxPool with two outputs gives one."""
import sys

import numpy as np
import onnx.parser
import torch

try:
    import torchvision  # which the converter imports for other operators
except RuntimeError:  # it does not fit this PyTorch: its import looks for these two names
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
import onnx2torch

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,4] x) => (float[1,1,2] y, int64[1,1,2] i) {
   y, i = MaxPool <kernel_shape=[2], strides=[2]> (x) }"""
x = np.array([[[0, 1, 2, 3]]], "float32")
expected = np.stack([[[[1, 3]]], [[[1, 3]]]])  # the values, and their places
module = onnx2torch.convert(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
