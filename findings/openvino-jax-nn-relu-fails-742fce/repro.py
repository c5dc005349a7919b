"""OpenVINO does not convert a program of JAX that holds a scalar of NumPy; see check.py."""

import jax
import jax.numpy as jnp
import numpy as np
import openvino as ov

x = jnp.arange(-2, 2, dtype="float32")
expected = np.asarray(jax.nn.relu(x))
print("expected", expected)
compiled = ov.Core().compile_model(ov.convert_model(jax.make_jaxpr(jax.nn.relu)(x)), "CPU")
actual = list(compiled([np.asarray(x)]).values())
print("actual  ", actual)
