"""With antialias=True OpenVINO ignores align_corners."""

import sys

import numpy as np
import openvino as ov
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.interpolate(
                    x, size=3, mode='bilinear', align_corners=True, antialias=True
                )


x = torch.arange(4.0).reshape(1, 1, 2, 2)
expected = Model()(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(Model(), example_input=(x,))
actual = ov.compile_model(model, "CPU", config)([x.numpy()])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
