"""OpenVINO's constant of a column of float16 numbers is int16 with their bits."""

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

expected = np.array([[1, 2], [3, 4]], "float16")[:, :1]
actual = ops.constant(expected, ov.Type.f16).data
print("expected", expected.dtype, expected.tolist())
print("actual  ", actual.dtype, actual.tolist())
sys.exit(not np.array_equal(actual, expected))
