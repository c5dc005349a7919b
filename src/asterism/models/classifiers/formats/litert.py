"""LiteRT (TensorFlow Lite) files.

An interpreter runs on one core and one call at a time, so every thread has interpreters of its
own. They take batches of a few fixed sizes: changing an interpreter's batch size costs more than
a small model's run.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from asterism.core.messages.errors import UserError, reading
from asterism.models.classifiers.formats import FORMATS, Batch, Format
from asterism.models.classifiers.formats.layout import Layout, require_vector
from asterism.models.foreign.litert import read_litert

#: Batch sizes that interpreters are set up for; a call is cut into the largest that fit.
_SIZES = (32, 8, 1)


class LiteRtRuntime:
    """A LiteRT model on the CPU, one thread a call."""

    def __init__(self, path: Path) -> None:
        read_litert(path)
        self._path = path
        self._local = threading.local()
        first = self._interpreter(None)
        with reading(str(path)):  # names may be no text
            inputs, outputs = first.get_input_details(), first.get_output_details()
        if len(inputs) != 1 or not outputs:
            raise UserError(f"{path} has {len(inputs)} inputs; a classifier has one")
        self._input, self._output = inputs[0], outputs[0]
        self._layout = Layout([None, *(int(s) for s in inputs[0]["shape"][1:])], path)
        self.input_shape = self._layout.input_shape
        self.outputs = require_vector([int(s) for s in outputs[0]["shape"]], path)
        integers = np.issubdtype(self._output["dtype"], np.integer)
        self.output_step = float(self._output["quantization"][0]) if integers else 0.0
        self.fixed_batch: int | None = None
        self.notes: tuple[str, ...] = ()
        self._sizes = _SIZES if self._takes_batches() else (1,)

    def run(self, batch: Batch) -> Batch:
        """See :meth:`asterism.models.classifiers.formats.Runtime.run`."""
        values = self._quantized(self._layout.adapt(batch))
        raw = np.empty((len(batch), self.outputs), self._output["dtype"])
        start = 0
        while start < len(batch):
            size = next(s for s in self._sizes if s <= len(batch) - start)
            interpreter = self._sized(size)
            interpreter.set_tensor(self._input["index"], values[start : start + size])
            interpreter.invoke()
            raw[start : start + size] = interpreter.get_tensor(self._output["index"])
            start += size
        return self._dequantized(raw)

    def _quantized(self, values: Batch) -> Any:
        dtype = self._input["dtype"]
        scale, zero = self._input["quantization"]
        if not np.issubdtype(dtype, np.integer) or not scale:
            return values.astype(dtype, copy=False)
        limits = np.iinfo(dtype)
        levels = np.rint(values / np.float32(scale)) + zero
        return np.clip(levels, limits.min, limits.max).astype(dtype)

    def _dequantized(self, raw: Any) -> Batch:
        scale, zero = self._output["quantization"]
        if not np.issubdtype(raw.dtype, np.integer) or not scale:
            plain: Batch = raw.astype(np.float32)
            return plain
        real: Batch = ((raw.astype(np.float32) - zero) * np.float32(scale)).astype(np.float32)
        return real

    def _takes_batches(self) -> bool:
        """Whether several images at once give the same bytes as one by one.

        A file whose shapes are written into its operators cannot be resized, or scrambles the
        images, and a file that quantises all images of a batch with one scale mixes them.
        """
        rng = np.random.default_rng(0)
        shape = (max(_SIZES), *self.input_shape)
        images = self._quantized(self._layout.adapt(rng.random(shape, dtype=np.float32)))
        images[: max(_SIZES) // 2] *= 2 if images.dtype.kind == "f" else 1
        try:
            return all(
                np.array_equal(self._raw(images[:size]), self._one_by_one(images[:size]))
                for size in _SIZES
            )
        except (RuntimeError, ValueError):  # LiteRT rejects the new shape
            return False

    def _one_by_one(self, values: Any) -> Any:
        return np.concatenate([self._raw(values[i : i + 1]) for i in range(len(values))])

    def _raw(self, values: Any) -> Any:
        interpreter = self._sized(len(values))
        interpreter.set_tensor(self._input["index"], values)
        interpreter.invoke()
        return interpreter.get_tensor(self._output["index"])

    def _sized(self, size: int) -> Any:
        known = self._local.__dict__.setdefault("interpreters", {})
        if size not in known:
            known[size] = self._interpreter(size)
        return known[size]

    def _interpreter(self, batch: int | None) -> Any:
        try:
            interpreter = Interpreter(str(self._path), num_threads=1)
            if batch is not None:
                first = interpreter.get_input_details()[0]
                interpreter.resize_tensor_input(first["index"], [batch, *first["shape"][1:]])
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            if batch is not None:
                raise
            raise UserError(f"LiteRT cannot open {self._path}: {error}") from None
        return interpreter


@FORMATS.register("tflite")
class LiteRt(Format):
    """LiteRT: a FlatBuffer with the identifier ``TFL3``."""

    suffixes: ClassVar[tuple[str, ...]] = (".tflite", ".lite")

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """The FlatBuffer's identifier, bytes 4 to 8."""
        return head[4:8] == b"TFL3"

    @staticmethod
    def open(path: Path) -> LiteRtRuntime:
        """See :meth:`asterism.models.classifiers.formats.Format.open`."""
        return LiteRtRuntime(path)
