"""Model files by format: what an open model is, and the way from a file to it.

Each module beside opens and runs the files of one format.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.parameters.registry import Registry
from asterism.models.foreign.other_files import require_model_bytes
from asterism.models.signatures.signature import Signature, TensorSpec

Tensors = dict[str, NDArray[Any]]


class Runtime(ABC):
    """A model with named inputs and outputs that is open and can be run.

    ``run`` is called from several threads at once, so it should release Python's lock while it
    works.

    Attributes:
        signature: what the model takes and gives.
        fixed_batch: rows that each call must have; None where any number will do.
        sizes: numbers of rows, beside one, into which the runtime cuts a call; empty where it cuts
            none.
        varies_in: the library that runs the model, where the last bits of a row differ with the
            number of rows beside it; empty where they do not.
        notes: what a reader of the results should know about how the model is run.
        calls_alone: whether one call waits for another, so that threads gain nothing.
    """

    signature: Signature
    fixed_batch: int | None = None
    sizes: tuple[int, ...] = ()
    varies_in: str = ""
    notes: tuple[str, ...] = ()
    calls_alone: bool = False

    @abstractmethod
    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """All outputs by name, in the signature's order, for all inputs by name."""

    def reset(self) -> None:  # noqa: B027 - most models have nothing to forget
        """Forget the state that the model keeps inside itself, in this thread."""


def note_device(device: object) -> tuple[str, ...]:
    """A note of the device that a model runs on; none for the processor.

    Args:
        device: its name, such as ``"cuda:0"``, or PyTorch's own.
    """
    return () if str(device).startswith("cpu") else (f"runs on {device}",)


#: Opens a file of a format as a model that can be run. A format is registered by the suffixes of
#: its files, with their dots.
FORMATS: Registry[Callable[[Path], Runtime]] = Registry("model format", "asterism.models.formats")


def open_runtime(path: Path) -> Runtime:
    """Open a model file of any supported format in this process.

    Raises:
        UserError: no such file, damaged, or of another format than its name says.
    """
    require_file(path, "model file")
    with prefix_errors(str(path)):
        open_model = FORMATS[path.suffix]
    try:
        return open_model(path)
    except UserError:
        require_model_bytes(path)  # which tells more, where it knows what the file is
        raise


#: Inputs of a call that are compared with themselves among copies.
_PROBED = 3


def mixes_inputs(run: Callable[[NDArray[Any]], Tensors], inputs: NDArray[Any]) -> bool:
    """Whether an answer depends on the other inputs of a call, as by dynamic quantisation.

    Calls of one size give the same bytes for an input in the same place, whichever inputs lie
    beside it, unless the model looks at them.

    Args:
        run: the model: ``(n, ...)`` to outputs ``(n, ...)`` by name.
        inputs: one call, ``(n, ...)`` with n of at least 2.
    """
    together = run(inputs)
    for place in range(min(_PROBED, len(inputs))):
        copies = np.repeat(inputs[place : place + 1], len(inputs), axis=0)
        for name, values in run(copies).items():
            mixed = together[name]
            if mixed.shape[:1] != (len(inputs),) or mixed.shape != values.shape:
                return True
            if not np.array_equal(mixed[place], values[place], equal_nan=True):
                return True
    return False


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
