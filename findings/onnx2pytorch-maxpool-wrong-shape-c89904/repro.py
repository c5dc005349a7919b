"""MaxPool with ceil_mode and uneven pads has another shape."""
import sys

import numpy as np
import onnx.parser
import torch
from onnx.reference import ReferenceEvaluator

try:
    import torchvision  # which the converter imports for other operators
except RuntimeError:  # it does not fit this PyTorch: its import looks for these two names
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
import onnx2pytorch

MODEL = """<ir_version: 8, opset_import: ["" : 19]>
f (float[1,1,9,8] x) => (float[1,1,N,M] y) {
   y = MaxPool <ceil_mode=1, kernel_shape=[2,3], pads=[0,1,1,0], strides=[3,2]> (x) }"""
x = np.arange(72, dtype="float32").reshape(1, 1, 9, 8)
expected = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, {"x": x})[0]
module = onnx2pytorch.ConvertModel(onnx.parser.parse_model(MODEL))
actual = module(torch.tensor(x)).numpy()
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
