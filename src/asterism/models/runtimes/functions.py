"""A function of the caller's process as a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.runtimes.runtime import Runtime, Tensors
from asterism.models.signatures.signature import Signature, TensorSpec

#: Held while a caller's object runs: nobody promised that two threads may be in it at once.
ALONE = threading.Lock()

#: What the only input of an object is called.
INPUT = "inputs"


class FunctionRuntime(Runtime):
    """A function of an array that gives an array, several, or several by name.

    How many rows it gets at a time may change the last bits of a row.

    Args:
        function: the model. The first axis of what it takes and gives counts the inputs.
        name: what messages call it.
        example: some inputs, ``(n, ...)``.

    Raises:
        UserError: it fails on the first input, or gives something else.
    """

    varies_in = "the function"
    calls_alone = True

    def __init__(self, function: Callable[[Any], Any], name: str, example: NDArray[Any]) -> None:
        self._function = function
        given = TensorSpec(INPUT, str(example.dtype), (None, *example.shape[1:]))
        try:
            found = self.run({INPUT: example[:1]})
        except Exception as error:
            raise UserError(f"{name} fails on the first input: {error}") from error
        for output, array in found.items():
            if array.dtype.kind not in "fiub":
                raise UserError(f"{name} gives {output} of the type {array.dtype}, not of numbers")
        answers = (
            TensorSpec(output, str(array.dtype), (None, *array.shape[1:]))
            for output, array in found.items()
        )
        self.signature = Signature("function", (given,), tuple(answers))

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        with ALONE:
            return named_arrays(self._function(inputs[INPUT]))


def named_arrays(answer: Any) -> Tensors:
    """What an object gives as arrays by name: one, several in order, or several by their keys."""
    if isinstance(answer, Mapping):
        there = {str(name): value for name, value in answer.items() if value is not None}
        return {name: as_array(value) for name, value in there.items()}
    if isinstance(answer, Sequence):
        return {f"output_{number}": as_array(value) for number, value in enumerate(answer)}
    return {"output": as_array(answer)}


def as_array(value: Any) -> NDArray[Any]:
    """An array, or a tensor of PyTorch wherever it lies; NumPy has no bfloat16, so that is float32.

    Args:
        value: anything that NumPy makes an array of.
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.dequantize() if value.is_quantized else value
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    return np.asarray(value)
