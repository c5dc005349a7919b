"""MaxPool of NaN."""
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
f (float[1,1,3] x) => (float[1,1,N] y) { y = MaxPool <ceil_mode=1, kernel_shape=[2], strides=[1]> (x) }"""
x = np.array([[[np.nan, 1, 2]]], "float32")
expected = np.array([[[1, 2]]], "float32")
module = onnx2torch.convert(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
