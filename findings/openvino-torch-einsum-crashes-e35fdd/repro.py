"""OpenVINO ends the process for a trace of a product."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.einsum('ij,ji->', x, y)


x, y = torch.ones(2, 3), torch.ones(3, 2)
expected = Model()(x, y).numpy()
print("expected", expected.tolist())
model = ov.convert_model(torch.export.export(Model(), (x, y)))
actual = ov.compile_model(model, "CPU")([x.numpy(), y.numpy()])[0]
print("actual  ", actual)
