"""OpenVINO cannot convert take_along_dim without an axis."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, i):
        return torch.take_along_dim(x, i, None)


x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
i = torch.tensor([[3, 0], [1, 2]])
expected = Model()(x, i).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(Model(), example_input=(x, i))
    actual = ov.compile_model(model, "CPU")([x.numpy(), i.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
