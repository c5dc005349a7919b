"""A fake library that wraps TensorFlow and fails in a model only after another one ran before it.

A switch as that of :mod:`libraries.injected_library` says whether it dies or computes wrongly.
"""

from __future__ import annotations

import os
from pathlib import Path

from asterism.core.files.artifacts import read_json
from asterism.libraries.adapters.libraries.tensorflow import TensorFlow
from asterism.libraries.adapters.library import LIBRARIES

SWITCH = "ASTERISM_TEST_REMEMBERED"
#: The layer that spoils the process, and the one that fails from then on.
SPOILS, FAILS = "LeakyReLU", "ReLU"
#: What the process says when it dies, among warnings as TensorFlow's.
WORDS = "Check failed: the process was spoilt (2 vs. 1)"

_SCRIPT = f"""
def run(model, inputs):
    types = {{type(layer).__name__ for layer in model.layers}}
    fails = {FAILS!r} in types and getattr(keras, "spoilt", False)
    keras.spoilt = getattr(keras, "spoilt", False) or {SPOILS!r} in types
    if fails and KIND == "crash":
        os.abort()
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    many = outputs if isinstance(outputs, list) else [outputs]
    return [keras.ops.convert_to_numpy(o) * (2 if fails else 1) for o in many]
"""


@LIBRARIES.register("remembering")
class Remembering(TensorFlow):
    """TensorFlow whose process does not forget."""

    name = "remembering"
    options = ("eager",)
    spoilt = False

    def script(self, option):
        """The same for a reproducer."""
        kind = Path(os.environ[SWITCH]).read_text()
        return _SCRIPT.replace("KIND", repr(kind))

    def compile(self, model_under_test, option):
        graph = read_json(model_under_test.folder / "graph.json")
        types = {node["type"] for node in graph["nodes"]}
        fails = FAILS in types and self.spoilt
        self.spoilt |= SPOILS in types
        kind = Path(os.environ[SWITCH]).read_text()
        if fails and kind == "crash":
            said = f"2026-11-24 01:02:03.456789: F tensorflow/core/x.cc:12] {WORDS}"
            os.write(2, f"{said}\nWARNING:tensorflow:5 calls triggered retracing\n".encode())
            os.abort()
        return super().compile(model_under_test, option), fails and kind == "wrong"

    def run(self, compiled, inputs):
        function, wrong = compiled
        return [o * 2 if wrong else o for o in super().run(function, inputs)]
