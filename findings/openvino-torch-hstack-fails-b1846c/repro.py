"""OpenVINO cannot convert hstack of vectors."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.hstack([x, y])


x, y = torch.ones(3), torch.zeros(3)
expected = Model()(x, y).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(Model(), example_input=(x, y))
    actual = ov.compile_model(model, "CPU")([x.numpy(), y.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
