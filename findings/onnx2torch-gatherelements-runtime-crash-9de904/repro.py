"""GatherElements with a negative index fails."""
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
f (float[2,2] x) => (float[1,2] y) <int64[1,2] i = {0, -1}> { y = GatherElements <axis=0> (x, i) }"""
x = np.array([[1, 2], [3, 4]], "float32")
expected = np.take_along_axis(x, np.array([[0, -1]]), 0)
print("expected", expected.tolist())
try:
    actual = onnx2torch.convert(onnx.parser.parse_model(MODEL))(torch.tensor(x))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
