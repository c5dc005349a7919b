"""A small recurrence with a carried state as ONNX, quantised by ONNX Runtime, and its sequences."""

import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime import quantization

from asterism.localisation.running import Session, Stream
from onnx_texts import onnx_model

#: Numbers of a call, of the state, and calls of a sequence.
STEP, WIDTH, CALLS = 8, 16, 12


def weights():
    rng = np.random.default_rng(3)
    recurrent = rng.normal(0, 1, (WIDTH, WIDTH))
    recurrent *= 0.8 / np.abs(np.linalg.eigvals(recurrent)).max()
    parts = {
        "inward": rng.normal(0, 0.5, (STEP, WIDTH)),
        "recurrent": recurrent,
        "outward": rng.normal(0, 0.6, (WIDTH, 3)),
    }
    return {name: array.astype(np.float32) for name, array in parts.items()}


def recurrence():
    """``state' = tanh(x·inward + state·recurrent)``, ``y = softmax(state'·outward)``."""
    text = f"""(float[n,{STEP}] x, float[n,{WIDTH}] state_in)
    => (float[n,3] y, float[n,{WIDTH}] state_out) {{
        [see] seen = MatMul (x, inward)
        [keep] kept = MatMul (state_in, recurrent)
        [join] sum = Add (seen, kept)
        [squash] state_out = Tanh (sum)
        [read] score = MatMul (state_out, outward)
        [decide] y = Softmax (score)
    }}"""
    return onnx_model(text, **weights())


def by_hand(items):
    """Answers ``(n, calls, 3)`` and the states before each call, by NumPy."""
    parts, state = weights(), np.zeros((len(items), WIDTH), np.float32)
    answers, states = [], []
    for start in range(0, items.shape[1], STEP):
        states.append(state)
        seen = items[:, start : start + STEP] @ parts["inward"]
        state = np.tanh(seen + state @ parts["recurrent"])
        scores = np.exp(state @ parts["outward"])
        answers.append(scores / scores.sum(axis=1, keepdims=True))
    return np.stack(answers, axis=1), states


def sequences(count=12, seed=0):
    """Float32 ``(count, length)``: slow waves and noise."""
    rng = np.random.default_rng(seed)
    length = STEP * CALLS
    phase, speed = rng.uniform(0, 6, (count, 1)), rng.uniform(0.05, 0.6, (count, 1))
    waves = np.sin(phase + speed * np.arange(length)) + 0.3 * rng.normal(size=(count, length))
    return waves.astype(np.float32)


def streams(items, size=5):
    """Items as runs of so many at a time."""
    found = []
    for start in range(0, len(items), size):
        part = items[start : start + size]
        calls = [{"x": part[:, i : i + STEP]} for i in range(0, part.shape[1], STEP)]
        first = calls[0] | {"state_in": np.zeros((len(part), WIDTH), np.float32)}
        found.append(Stream(first, calls[1:], {"state_in": "state_out"}))
    return found


class _Calls(quantization.CalibrationDataReader):
    """Single calls with the states that the float model carries."""

    def __init__(self):
        items = sequences(20, 1)
        _, states = by_hand(items)
        self._calls = iter(
            {"x": items[:, i * STEP : (i + 1) * STEP], "state_in": state}
            for i, state in enumerate(states)
        )

    def get_next(self):
        return next(self._calls, None)


def quantised(**options):
    """The recurrence in 8 bits, as QDQ."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "original.onnx", Path(folder) / "int8.onnx"
        onnx.save(recurrence(), source)
        quantization.quantize_static(source, target, _Calls(), **options)
        return onnx.load(target)


def memory(inner=False):
    """An LSTM with both of its states carried, and a product; in a branch if it is ``inner``."""
    rng = np.random.default_rng(5)
    shapes = {"W": (1, 4 * WIDTH, STEP), "R": (1, 4 * WIDTH, WIDTH), "B": (1, 8 * WIDTH)}
    parts = {name: rng.normal(0, 0.4, shape) for name, shape in shapes.items()}
    parts["outward"] = rng.normal(0, 2, (WIDTH, 3))
    state = f"float[1,n,{WIDTH}]"
    lstm = f"LSTM <hidden_size = {WIDTH}> (x3, W, R, B, , h_in, c_in)"

    def branch(h, c):
        return f"{h}_branch () => ({state} {h}, {state} {c}) {{ , {h}, {c} = {lstm} }}"

    remember = f", h_out, c_out = {lstm}"
    if inner:
        branches = f"then_branch = {branch('h1', 'c1')}, else_branch = {branch('h2', 'c2')}"
        remember = f"h_out, c_out = If (yes) <{branches}>"
    text = f"""(float[n,{STEP}] x, {state} h_in, {state} c_in)
    => (float[n,3] y, {state} h_out, {state} c_out) {{
        [row] x3 = Unsqueeze (x, first)
        [remember] {remember}
        [column] h = Squeeze (h_out, first)
        [read] score = MatMul (h, outward)
        [decide] y = Softmax (score)
    }}"""
    constants = {name: array.astype(np.float32) for name, array in parts.items()}
    return onnx_model(text, **constants, first=np.array([0]), yes=np.array(True))


def memory_streams(items):
    """Items as one run of the LSTM."""
    calls = [{"x": items[:, i : i + STEP]} for i in range(0, items.shape[1], STEP)]
    zeros = np.zeros((1, len(items), WIDTH), np.float32)
    first = calls[0] | {"h_in": zeros, "c_in": zeros}
    return [Stream(first, calls[1:], {"h_in": "h_out", "c_in": "c_out"})]


def dynamic(model):
    """A model with weights in 8 bits, and activations that are quantised as they come."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "original.onnx", Path(folder) / "int8.onnx"
        onnx.save(model, source)
        quantization.quantize_dynamic(source, target)
        return onnx.load(target)


def half():
    """The recurrence in half precision; inputs and outputs keep their type."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(recurrence(), keep_io_types=True)


def answers_of(model, items):
    """``y`` of a model that carries its own state, ``(n, calls, 3)``."""
    names = {"y": "y", "state_out": "state_out"}
    (run,) = streams(items, len(items))
    return Session(model, "it").answers(run, names)["y"]
