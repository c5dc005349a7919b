"""OpenVINO cannot compile an embedding_bag with weights."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, table, rows, starts, weights):
        return torch.nn.functional.embedding_bag(
            rows, table, starts, mode="sum", per_sample_weights=weights
        )


table, weights = torch.arange(6.0).reshape(3, 2), torch.tensor([2.0, 3.0])
inputs = (table, torch.tensor([0, 2]), torch.tensor([0, 1]), weights)
print("expected", Model()(*inputs).tolist())
try:
    model = ov.convert_model(torch.export.export(Model(), inputs))
    actual = ov.compile_model(model, "CPU")([x.numpy() for x in inputs])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
