"""What a file answers, by the runtime that the file is made for, one item at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

Array = NDArray[Any]
#: Outputs of one item, by name.
Answer = dict[str, Array]
#: A function from the inputs of one item, ``(1, ...)`` each, to the outputs.
Model = Callable[[Mapping[str, Array]], Answer]


def answers(path: Path, feed: Mapping[str, Array]) -> list[Answer]:
    """The outputs for each item."""
    run = {".onnx": _onnx, ".tflite": _lite, ".keras": _keras}[path.suffix](path)
    return list(map(run, one_by_one(feed)))


def one_by_one(feed: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Inputs of a model, ``(N, ...)`` each, as those of one item each."""
    count = len(next(iter(feed.values())))
    return [{name: values[i : i + 1] for name, values in feed.items()} for i in range(count)]


def _onnx(path: Path) -> Model:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), options)
    names = [output.name for output in session.get_outputs()]
    halves = {i.name for i in session.get_inputs() if i.type == "tensor(float16)"}

    def run(given: Mapping[str, Array]) -> Answer:
        cast = {k: v.astype(np.float16) if k in halves else v for k, v in given.items()}
        return dict(zip(names, session.run(None, cast), strict=True))

    return run


def _lite(path: Path) -> Model:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    (given,) = interpreter.get_input_details()
    # The number at the end of a name is the output's place in the original model.
    outputs = sorted(interpreter.get_output_details(), key=lambda o: o["name"].rpartition(":")[2])

    def run(values: Mapping[str, Array]) -> Answer:
        (value,) = values.values()
        interpreter.set_tensor(given["index"], _quantised(value, given))
        interpreter.invoke()
        found = [_real(interpreter.get_tensor(o["index"]), o) for o in outputs]
        return {o["name"]: value.copy() for o, value in zip(outputs, found, strict=True)}

    return run


def _quantised(value: Array, details: Any) -> Array:
    scale, zero = details["quantization"]
    if not scale:
        return value.astype(details["dtype"])
    limits = np.iinfo(details["dtype"])
    rounded = np.round(value / scale + zero)
    return np.asarray(np.clip(rounded, limits.min, limits.max), details["dtype"])


def _real(value: Array, details: Any) -> Array:
    scale, zero = details["quantization"]
    return (value.astype(np.float32) - zero) * np.float32(scale) if scale else value


def _keras(path: Path) -> Model:
    import keras

    model = keras.models.load_model(path, safe_mode=True)
    names = list(model.output_names)

    def run(values: Mapping[str, Array]) -> Answer:
        (value,) = values.values()
        found = model(value, training=False)
        found = list(found) if isinstance(found, list | tuple) else [found]
        return {name: np.asarray(v) for name, v in zip(names, found, strict=True)}

    return run
