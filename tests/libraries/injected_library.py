"""A fake library that wraps TensorFlow and, on a switch, fails in one layer type.

The switch is a file named by an environment variable; it holds a kind of fault, or nothing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.tensorflow import TensorFlow

SWITCH = "ASTERISM_TEST_FAULT"
TARGET = "LeakyReLU"
KINDS = ("crash", "hang", "memory", "exception", "nan", "transpose", "shape", "perturb")
MESSAGE = "the fake library fails here"

#: What a fault does in place of running the model, or with what the layer puts out.
LINES = {
    "crash": "os.abort()",
    "hang": "time.sleep(3600)",
    "exception": f"raise ArithmeticError({MESSAGE!r})",
    "memory": "hoard = [np.ones(2**23) for _ in iter(lambda: time.sleep(0.05), 0)]",
    "nan": "y * float('nan')",
    "transpose": "keras.ops.flip(y, -1)",
    "shape": "keras.ops.concatenate([y, y])",
    "perturb": "y * 1.01",
}
#: Faults of the layer itself, and what stands in place of each kind of fault where there is none.
FAULTY = ("nan", "transpose", "shape", "perturb")
SOUND = {kind: "y" if kind in FAULTY else "pass" for kind in KINDS}

_LAYER = f"""for layer in model.layers:
    if type(layer).__name__ == {TARGET!r} and not hasattr(layer, "right"):
        layer.right = layer.call
        layer.call = lambda x, right=layer.call: (lambda y: FAULT)(right(x))"""


@LIBRARIES.register("injected")
class Injected(TensorFlow):
    """TensorFlow with a fault in models that have the layer."""

    name = "injected"
    options = ("eager",)

    def code(self, option):
        """What the worker runs and the script holds: the wrapped library with the fault."""
        kind, right = Path(os.environ[SWITCH]).read_text(), super().code(option)
        if kind in FAULTY:
            return replace(right, prepare=_LAYER.replace("FAULT", LINES[kind]))
        if not kind:
            return right
        has = f"any(type(layer).__name__ == {TARGET!r} for layer in model.layers)"
        call = f"if {has}:\n    {LINES[kind]}\n{right.call}"
        return replace(right, imports=("import os", "import time"), call=call)
