"""OpenVINO rounds to whole numbers, whatever `decimals` says."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.round(x, decimals=1)


x = torch.tensor([1.26, -0.14, 15.5])
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
