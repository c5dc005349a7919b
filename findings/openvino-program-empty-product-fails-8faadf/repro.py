"""A product over no elements plus one: OpenVINO fuses the addition, then rejects it."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x @ y + 1


x, y = torch.ones(2, 0), torch.ones(0, 2)
expected = Model()(x, y).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(torch.export.export(Model(), (x, y)))
    actual = ov.compile_model(model, "CPU")([x.numpy(), y.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
