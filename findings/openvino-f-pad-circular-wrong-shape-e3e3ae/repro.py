"""A negative circular pad gives the wrong shape in OpenVINO."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.pad(x, (-1, 2), mode='circular')


x = torch.arange(5.0)[None, None]
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
