"""OpenVINO joins vectors end to end where vstack makes them rows."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.vstack([x, y])


x, y = torch.ones(3), torch.zeros(3)
expected = Model()(x, y).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x, y))
actual = ov.compile_model(model, "CPU", config)([x.numpy(), y.numpy()])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
