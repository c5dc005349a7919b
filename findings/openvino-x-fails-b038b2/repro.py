"""OpenVINO assigns to columns where a mask selects rows."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y[y[:, 0] > 0] = 7.0
        return y


x = torch.tensor([[1.0, 2.0], [-1.0, 5.0]])
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
