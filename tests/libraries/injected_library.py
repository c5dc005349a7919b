"""A fake library that wraps TensorFlow and, on a switch, fails in one layer type.

The switch is a file named by an environment variable; it holds a kind of fault, or nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import read_json
from asterism.libraries.adapters.libraries.tensorflow import TensorFlow
from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.adapters.questions import KerasFunction

SWITCH = "ASTERISM_TEST_FAULT"
TARGET = "LeakyReLU"
KINDS = ("crash", "hang", "memory", "exception", "nan", "transpose", "shape", "perturb")
MESSAGE = "the fake library fails here"

#: What a reproducer of a fault does in place of running the model, or with its outputs.
SCRIPTS = {
    "crash": "os.abort()",
    "hang": "import time; time.sleep(3600)",
    "exception": f"raise ArithmeticError({MESSAGE!r})",
    "memory": "np.ones(2**34)",
    "nan": "outputs = outputs * float('nan')",
    "transpose": "outputs = outputs[..., ::-1]",
    "shape": "outputs = np.concatenate([outputs, outputs])",
    "perturb": "outputs = outputs * 1.01",
    "": "pass",
}

#: Faults of the layer itself.
FAULTY = ("nan", "transpose", "shape", "perturb")


@LIBRARIES.register("injected")
class Injected(TensorFlow):
    """TensorFlow with a fault."""

    name = "injected"
    options = ("eager",)

    def script(self, option):
        """What a reproducer runs: the wrapped library with the fault."""
        line = SCRIPTS[Path(os.environ[SWITCH]).read_text()]
        whole = super().script(option)
        return whole.replace("    return outputs if", f"    {line}\n    return outputs if")

    def compile(self, model_under_test, option):
        fault = Path(os.environ[SWITCH]).read_text()
        types = [n["type"] for n in read_json(model_under_test.folder / "graph.json")["nodes"]]
        if fault and TARGET in types:
            if fault == "crash":
                os.abort()
            if fault == "hang":
                time.sleep(3600)
            if fault == "memory":
                hoard = []
                while True:
                    hoard.append(np.ones(2**23))
                    time.sleep(0.05)
            if fault == "exception":
                raise ArithmeticError(MESSAGE)
        model = model_under_test.keras()
        for layer in model.layers:
            if type(layer).__name__ == TARGET and fault in FAULTY:
                layer.call = _faulty(layer.call, fault)
        call = lambda inputs, training: model(inputs, training=training)  # noqa: E731
        return KerasFunction.of(call, model, model_under_test)


def _faulty(call, fault):
    def wrong(inputs, *arguments, **keywords):
        import tensorflow as tf

        outputs = call(inputs, *arguments, **keywords)
        if fault == "nan":
            return outputs * tf.constant(float("nan"), outputs.dtype)
        if fault == "transpose":
            return tf.reverse(outputs, [-1])
        if fault == "shape":
            return tf.concat([outputs, outputs], 0)
        return outputs * tf.constant(1.01, outputs.dtype)

    return wrong
