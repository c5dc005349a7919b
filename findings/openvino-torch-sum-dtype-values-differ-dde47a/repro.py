"""OpenVINO casts after a sum where PyTorch casts before it."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=0, dtype=torch.int32)


x = torch.tensor([0.6, 0.6])
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
