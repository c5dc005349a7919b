"""OpenVINO's p-norm distance leaves out the absolute value."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.nn.functional.pairwise_distance(x, y, p=1)


x = torch.tensor([[1.0, 2.0], [5.0, 3.0]])
y = torch.tensor([[3.0, 5.0], [4.0, 5.0]])
expected = Model()(x, y).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x, y))
actual = ov.compile_model(model, "CPU", config)([x.numpy(), y.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
