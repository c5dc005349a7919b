"""A fake library that wraps TensorFlow and fails in a model only after another one ran before it.

A switch as that of :mod:`libraries.injected_library` says whether it dies or computes wrongly.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.tensorflow import TensorFlow

SWITCH = "ASTERISM_TEST_REMEMBERED"
#: The layer that spoils the process, and the one that fails from then on.
SPOILS, FAILS = "LeakyReLU", "ReLU"
#: What the process says when it dies, among warnings as TensorFlow's.
WORDS = "Check failed: the process was spoilt (2 vs. 1)"

_CODE = f"""types = {{type(layer).__name__ for layer in model.layers}}
fails = {FAILS!r} in types and getattr(keras, "spoilt", False)
keras.spoilt = getattr(keras, "spoilt", False) or {SPOILS!r} in types
if fails and KIND == "crash":
    said = "2026-11-24 01:02:03.456789: F tensorflow/core/x.cc:12] {WORDS}"
    os.write(2, f"{{said}}\\nWARNING:tensorflow:5 calls triggered retracing\\n".encode())
    os.abort()
CALL
outputs = [keras.ops.convert_to_numpy(y) * (2 if fails else 1) for y in outputs]"""


@LIBRARIES.register("remembering")
class Remembering(TensorFlow):
    """TensorFlow whose process does not forget."""

    name = "remembering"
    options = ("eager",)

    def code(self, option):
        """What the worker runs and the script holds."""
        kind, right = Path(os.environ[SWITCH]).read_text(), super().code(option)
        call = _CODE.replace("KIND", repr(kind)).replace("CALL", right.call)
        return replace(right, imports=("import os",), call=call)
