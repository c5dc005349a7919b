"""Flatten with a negative axis fails."""
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
f (float[2,3] x) => (float[1,6] y) { y = Flatten <axis=-2> (x) }"""
x = np.zeros((2, 3), "float32")
expected = x.reshape(1, 6)
print("expected", expected.tolist())
try:
    actual = onnx2torch.convert(onnx.parser.parse_model(MODEL))(torch.tensor(x))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
