"""A Keras ConvLSTM1D of the PyTorch backend cannot be read by onnx2pytorch."""
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import onnx
import torch

try:
    import torchvision  # which the converter imports for other operators
except RuntimeError:  # it does not fit this PyTorch: its import looks for these two names
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
import onnx2pytorch
model = keras.Sequential([keras.Input((1, 1, 1)), keras.layers.ConvLSTM1D(1, 1)])
print("expected", tuple(model(torch.zeros(2, 1, 1, 1)).shape))
model.export("model.onnx", format="onnx", verbose=False)
try:
    actual = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))(torch.zeros(2, 1, 1, 1))
except TypeError as error:
    print("actual  ", type(error).__name__, error)
    sys.exit(1)
print("actual  ", tuple(actual.shape))
