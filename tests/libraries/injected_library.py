"""A fake library that wraps TensorFlow and, on a switch, fails in one layer type.

The switch is a file named by an environment variable; it holds a kind of fault, or nothing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from asterism.libraries.adapters.libraries.tensorflow import TensorFlow
from asterism.libraries.adapters.library import LIBRARIES

SWITCH = "ASTERISM_TEST_FAULT"
TARGET = "LeakyReLU"
KINDS = ("crash", "hang", "memory", "exception", "nan", "transpose", "shape", "perturb")
MESSAGE = "the fake library fails here"

#: What a fault does, in place of running the model or with its outputs.
LINES = {
    "crash": "os.abort()",
    "hang": "time.sleep(3600)",
    "exception": f"raise ArithmeticError({MESSAGE!r})",
    "memory": "hoard = [np.ones(2**23) for _ in iter(lambda: time.sleep(0.05), 0)]",
    "nan": "outputs = [y * float('nan') for y in outputs]",
    "transpose": "outputs = [np.asarray(y)[..., ::-1] for y in outputs]",
    "shape": "outputs = [np.concatenate([y, y]) for y in outputs]",
    "perturb": "outputs = [y * 1.01 for y in outputs]",
    "": "pass",
}


@LIBRARIES.register("injected")
class Injected(TensorFlow):
    """TensorFlow with a fault in models that have the layer."""

    name = "injected"
    options = ("eager",)

    def code(self, option):
        """What the worker runs and the script holds: the wrapped library with the fault."""
        line = LINES[Path(os.environ[SWITCH]).read_text()]
        has = f"any(type(layer).__name__ == {TARGET!r} for layer in model.layers)"
        right = super().code(option)
        call = f"{right.call}\nif {has}:\n    {line}"
        return replace(right, imports=("import os", "import time"), call=call)
