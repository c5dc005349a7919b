"""OpenVINO counts the entries of `padding_idx` in an embedding bag."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x, table):
        return torch.nn.functional.embedding_bag(x, table, mode='mean', padding_idx=0)


x = torch.tensor([[0, 2], [1, 2]])  # 0 is padding
table = torch.arange(6.0).reshape(3, 2)
expected = Model()(x, table).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x, table))
actual = ov.compile_model(model, "CPU", config)([x.numpy(), table.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
