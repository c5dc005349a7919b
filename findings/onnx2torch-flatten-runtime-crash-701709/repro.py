"""onnx2torch cannot convert a Flatten with a negative axis."""

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
import onnx2torch

model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
f (float[2,3] x) => (float[1,6] y) { y = Flatten <axis=-2> (x) }""")
x = np.arange(6, dtype="float32").reshape(2, 3)
print("expected", ReferenceEvaluator(model).run(None, {"x": x})[0].tolist())
try:
    print("actual  ", onnx2torch.convert(model)(torch.tensor(x)).tolist())
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
