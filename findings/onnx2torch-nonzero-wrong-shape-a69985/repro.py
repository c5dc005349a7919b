"""NonZero is not transposed."""
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
f (float[2,3] x) => (int64[2,N] y) { y = NonZero (x) }"""
x = np.array([[1, 0, 2], [0, 3, 0]], "float32")
expected = np.array(x.nonzero())
module = onnx2torch.convert(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
