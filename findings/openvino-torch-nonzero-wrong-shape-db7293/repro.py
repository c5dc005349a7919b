"""nonzero of a single number has another shape in OpenVINO."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nonzero(x)


x = torch.tensor(5)
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
