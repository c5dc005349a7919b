"""OpenVINO's JAX frontend cannot convert a program with a NumPy scalar, as jax.nn.relu has."""

import sys

import jax
import numpy as np
import openvino as ov

x = np.array([-1.0, 2.0], "float32")
expected = np.maximum(x, 0)
print("expected", expected.tolist())
try:
    model = ov.convert_model(jax.make_jaxpr(jax.nn.relu)(x))
    actual = ov.compile_model(model, "CPU")([x])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:300])
    sys.exit(1)
print("actual  ", actual)
