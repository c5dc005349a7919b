"""OpenVINO does not broadcast the mask of masked_select."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.masked_select(x, y > 0)


x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
y = torch.tensor([1.0, 0.0])
expected = Model()(x, y).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x, y))
actual = ov.compile_model(model, "CPU", config)([x.numpy(), y.numpy()])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
