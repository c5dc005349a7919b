"""OpenVINO asks a dynamic shape for its sizes, though all inputs have fixed shapes."""

import sys

import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, table, weights):
        rows, starts = torch.tensor([0, 2]), torch.tensor([0, 0])
        return torch.nn.functional.embedding_bag(
            rows, table, starts, mode="sum", per_sample_weights=weights
        )


table, weights = torch.ones(3, 2), torch.ones(2)
print("expected", Model()(table, weights).tolist())
try:
    model = ov.convert_model(torch.export.export(Model(), (table, weights)))
    actual = ov.compile_model(model, "CPU")([table.numpy(), weights.numpy()])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
