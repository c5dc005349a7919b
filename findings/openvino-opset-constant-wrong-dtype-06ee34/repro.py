"""OpenVINO takes the bits of a float16 array that is no block of memory for int16; see check.py."""

import numpy as np
import openvino as ov
from openvino import opset13 as ops

whole = np.array([[1, 2], [3, 4]], "float16")
expected = whole[:, :1]
print("expected", expected.tolist(), expected.dtype)
assert (ops.constant(expected.copy(), ov.Type.f16).data == expected).all()  # as a block it is right
actual = ops.constant(expected, ov.Type.f16).data
print("actual  ", actual.tolist(), actual.dtype)
