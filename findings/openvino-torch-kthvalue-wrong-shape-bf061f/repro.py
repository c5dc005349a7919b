"""An exported kthvalue loses an axis in OpenVINO."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.kthvalue(x, 1, dim=0)[0]


x = torch.arange(6.0).reshape(2, 3, 1)
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(torch.export.export(Model(), (x,)))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
