"""OpenVINO's gather fails for an empty index."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, i):
        return torch.gather(x, 0, i)


x, i = torch.ones(3, 4), torch.zeros((2, 0), dtype=torch.int64)
expected = Model()(x, i).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(Model(), example_input=(x, i))
    actual = ov.compile_model(model, "CPU")([x.numpy(), i.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
