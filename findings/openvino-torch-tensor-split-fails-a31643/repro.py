"""OpenVINO cannot compile tensor_split into a number of parts from a traced model."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tensor_split(x, 3, 0)[0]


x = torch.arange(3.0)
expected = Model()(x).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(Model(), example_input=(x,))
    actual = ov.compile_model(model, "CPU")([x.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
