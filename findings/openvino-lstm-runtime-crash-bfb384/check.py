"""runtime crash | openvino | LSTM(activations=[b'Sigmoid', b'Relu', b'Softsign'])

The model, which stands below as a file:

    [lstm] y0, y1 = LSTM <activations: strings = [\"Sigmoid\", \"Relu\", \"Softsign\"], direction: string = \"forward\", hidden_size: int = 3> (x0, c0, c1)

Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import base64
import os
import sys
import tempfile

def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


import numpy as np


def run(path, inputs):
    import openvino as ov

    core = ov.Core()
    compiled = core.compile_model(
        core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    result = compiled(inputs)
    return [result[i] for i in range(len(compiled.outputs))]


MODEL = """
CAg6rgUKeAoCeDAKAmMwCgJjMRICeTASAnkxGgRsc3RtIgRMU1RNKikKC2FjdGl2YXRpb25zSgdTaWdtb2lkSgRSZWx1Sgh
Tb2Z0c2lnbqABCCoXCglkaXJlY3Rpb24iB2ZvcndhcmSgAQMqEgoLaGlkZGVuX3NpemUYA6ABAhIETFNUTSr/AQgBCAwIBR
ABQgJjMErwAdPZB0CVN2Y/DtnYP+WQcj83hM48b96gPksPhz/sAog+IlHOP2CI3D5h/cU/J3TtPiZUUz9Xk6I+/xV+PjuqQ
z/NboI/1OMIQNyqpD0KqPg/uqk+Pz/d1T5O2p0/Eac1QCanIj+QCug/mU5ZPrp8Wz6mFcI/6eW4Pnr4Zj7UE8Y/M1M+Pws1
0j8ikRU/oEtDPjLEiD6Aask+JglQPzc+jj9cco8/EsUvP0o4nj+taqY/A8u0Pe94rj+TgFo/DrVaPRVbRj8Tv5Q/+Di0PU4
pIj8eiwo9mvRJP6y7dj/wYN4+wlPYPoKJGz7KDBY/U4CiPyqfAQgBCAwIAxABQgJjMUqQAfPDjz/MrYc/K5EhPtgOD0DuvG
U+T6k/P+XuzD6odAw+kf6XPwvBBD1Dwb8/tWSYP1rgZz+moGs+b0pwPrG0FT0V3ek//bhdP9ZQLj9sQZc/ld6LPzh3uz9yz
BVA+XTnPhiT8j5cPMk++raPP3FN+zyOnsY+4H4BQK/Nlj/GPJs/AsMFPo6NNT2FA1k/wgq7P1oYCgJ4MBISChAIARIMCgII
BAoCCAIKAggFYhwKAnkwEhYKFAgBEhAKAggECgIIAQoCCAIKAggDYhgKAnkxEhIKEAgBEgwKAggBCgIIAgoCCANqHAoCeTA
SFgoUCAESEAoCCAQKAggBCgIIAgoCCANqGAoCeTESEgoQCAESDAoCCAEKAggCCgIIA0IECgAQEg==
"""
INPUTS = [np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 'float32').reshape((4, 2, 5))]

EXCEPTION = 'RuntimeError'
WORDS = ['Exception', 'from', 'Exception', 'from', 'Exception', 'from', 'CALLBACK', 'HAS', 'Unknown', 'activation']


def recorded(error):
    """Whether this is the exception that was seen: its type, and the words of its message."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return name == EXCEPTION and all(word in str(error) for word in WORDS)


def main():
    print("expected: the model runs")
    try:
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "model.onnx")
        open(path, "wb").write(base64.b64decode(MODEL))
        outputs = run(path, INPUTS)
    except BaseException as error:
        print("actual  :", type(error).__name__, error)
        if not recorded(error):
            otherwise(type(error), error, error.__traceback__)
        print("the bug lives")
        return 1
    print("actual  : it runs; the bug is gone")
    return 0


sys.exit(main())
