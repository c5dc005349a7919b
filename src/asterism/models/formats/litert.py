"""LiteRT (TensorFlow Lite) files."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, reading
from asterism.models.formats import FORMATS, Runtime, Tensors
from asterism.models.signatures.tflite import tflite_signature

#: Batch sizes that interpreters are set up for; a call is cut into the largest that fit.
_SIZES = (32, 8, 1)


@FORMATS.register(".tflite", ".lite")
class LiteRtRuntime(Runtime):
    """A LiteRT model on the CPU. Each thread has an interpreter for each shape of inputs.

    An interpreter runs one call at a time on one core, and a change of shapes costs more than a
    small model's run.
    """

    def __init__(self, path: Path) -> None:
        self.signature = tflite_signature(path)
        self._path = path
        self._local = threading.local()
        first = self._open(())
        with reading(str(path)):  # names may be no text
            details = first.get_input_details(), first.get_output_details()
        inputs = [detail["index"] for detail in details[0]]
        outputs = {detail["name"]: detail["index"] for detail in details[1]}
        self._inputs = {s.name: i for s, i in zip(self.signature.inputs, inputs, strict=True)}
        self._outputs = {spec.name: outputs[spec.name] for spec in self.signature.outputs}
        self.fixed_batch = None if self._takes_batches() else 1
        self.sizes = () if self.fixed_batch else _SIZES[:-1]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        count = len(next(iter(inputs.values())))
        if self.fixed_batch == 1 or count in _SIZES:
            return self._run(inputs)
        found, start = [], 0
        while start < count:
            size = next(size for size in _SIZES if size <= count - start)
            found.append(self._run({k: v[start : start + size] for k, v in inputs.items()}))
            start += size
        return {name: np.concatenate([part[name] for part in found]) for name in self._outputs}

    def reset(self) -> None:
        """See :meth:`.Runtime.reset`.

        LiteRT's ``reset_all_variables`` leaves resource variables as they are, so the interpreters
        are opened anew.
        """
        if self.signature.variables:
            self._interpreters().clear()

    def _takes_batches(self) -> bool:
        """Whether every input can have another batch than the one in the file."""
        specs = self.signature.inputs
        if self.signature.streams or any(spec.shape[:1] not in ((1,), (None,)) for spec in specs):
            return False
        try:
            self._open([(max(_SIZES), *(size or 1 for size in spec.shape[1:])) for spec in specs])
        except UserError:
            return False
        return True

    def _run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        interpreter = self._interpreter(tuple(inputs[name].shape for name in self._inputs))
        for name, index in self._inputs.items():
            interpreter.set_tensor(index, inputs[name])
        interpreter.invoke()
        return {name: interpreter.get_tensor(index) for name, index in self._outputs.items()}

    def _interpreters(self) -> dict[tuple[tuple[int, ...], ...], Any]:
        known: dict[tuple[tuple[int, ...], ...], Any] = self._local.__dict__.setdefault("open", {})
        return known

    def _interpreter(self, shapes: tuple[tuple[int, ...], ...]) -> Any:
        known = self._interpreters()
        if shapes not in known:
            known[shapes] = self._open(shapes)
        return known[shapes]

    def _open(self, shapes: Sequence[tuple[int, ...]]) -> Any:
        """An interpreter for inputs of these shapes, in order; of the file's own without any."""
        from ai_edge_litert.interpreter import Interpreter

        try:
            interpreter = Interpreter(str(self._path), num_threads=1)
            for wanted, detail in zip(shapes, interpreter.get_input_details(), strict=False):
                if tuple(detail["shape"]) != wanted:
                    interpreter.resize_tensor_input(detail["index"], list(wanted))
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise UserError(f"LiteRT cannot open {self._path}: {_reason(str(error))}") from None
        return interpreter


def _reason(said: str) -> str:
    """Why LiteRT opens no file, with what leads on where operators are not its own."""
    if "Select TensorFlow op" in said:
        return (
            "it has operators of TensorFlow itself (flex), which are not run here: convert it with "
            "`converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]`"
        )
    return said
