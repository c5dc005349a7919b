"""LiteRT (TensorFlow Lite) files of any signature."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.signatures.tflite import tflite_signature
from asterism.models.tensor_models.runtime import RUNTIMES, Tensors

#: Batch sizes that interpreters are set up for; a call is cut into the largest that fit.
_SIZES = (32, 8, 1)


@RUNTIMES.register("litert")
class LiteRtRuntime:
    """A LiteRT model on the CPU. Each thread has an interpreter for each shape of inputs.

    An interpreter runs one call at a time, and a change of shapes costs more than a small model's
    run.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".tflite", ".lite")

    def __init__(self, path: Path) -> None:
        self.signature = tflite_signature(path)
        self._path = path
        self._local = threading.local()
        first = self._open({})
        self._inputs = [detail["name"] for detail in first.get_input_details()]
        self._outputs = [detail["name"] for detail in first.get_output_details()]
        self.fixed_batch = None if self._takes_batches() else 1

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        count = len(next(iter(inputs.values())))
        if self.fixed_batch == 1:
            return self._run(inputs)
        found, start = [], 0
        while start < count:
            size = next(size for size in _SIZES if size <= count - start)
            found.append(self._run({k: v[start : start + size] for k, v in inputs.items()}))
            start += size
        return {name: np.concatenate([part[name] for part in found]) for name in found[0]}

    def _takes_batches(self) -> bool:
        """Whether every input can have another batch than the one in the file."""
        specs = self.signature.inputs
        if self.signature.streams or any(spec.shape[:1] not in ((1,), (None,)) for spec in specs):
            return False
        sizes = {spec.name: tuple(size or 1 for size in spec.shape) for spec in specs}
        try:
            self._open({name: (max(_SIZES), *shape[1:]) for name, shape in sizes.items()})
        except UserError:
            return False
        return True

    def _run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        interpreter = self._interpreter(inputs)
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], inputs[detail["name"]])
        interpreter.invoke()
        return {
            detail["name"]: interpreter.get_tensor(detail["index"])
            for detail in interpreter.get_output_details()
        }

    def reset(self) -> None:
        """See :meth:`.Runtime.reset`.

        LiteRT's ``reset_all_variables`` leaves resource variables as they are, so the interpreters
        are opened anew.
        """
        if self.signature.variables:
            self._interpreters().clear()

    def _interpreters(self) -> dict[tuple[tuple[int, ...], ...], Any]:
        known: dict[tuple[tuple[int, ...], ...], Any] = self._local.__dict__.setdefault("open", {})
        return known

    def _interpreter(self, inputs: Mapping[str, NDArray[Any]]) -> Any:
        known, shapes = self._interpreters(), tuple(inputs[name].shape for name in self._inputs)
        if shapes not in known:
            known[shapes] = self._open({name: inputs[name].shape for name in self._inputs})
        return known[shapes]

    def _open(self, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        from ai_edge_litert.interpreter import Interpreter

        try:
            interpreter = Interpreter(str(self._path), num_threads=1)
            for detail in interpreter.get_input_details():
                wanted = shapes.get(detail["name"])
                if wanted is not None and tuple(detail["shape"]) != wanted:
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
