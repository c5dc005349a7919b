"""A module of PyTorch that lives in the caller's process."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.formats import (
    ALONE,
    INPUT,
    Runtime,
    Tensors,
    mixes_inputs,
    named_arrays,
    note_device,
)
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.signatures.torch import is_form, operator_family, operator_of

if TYPE_CHECKING:
    import torch

#: Inputs of the call that shows whether an answer depends on the others.
_COMPARED = 4


class ModuleRuntime(Runtime):
    """A module of PyTorch, run where it lies and in the type of its parameters.

    PyTorch's kernels give other last bits for other batch sizes. A module whose answers depend on
    the other inputs of a call, such as a dynamically quantised one, is asked one by one.

    Args:
        module: takes one tensor, whose first axis counts the inputs; or several.
        name: what messages call it.
        example: some inputs as the module takes them, ``(n, ...)``; or pictures, uint8
            ``(n, H, W, C)``, which a module that computes in real numbers gets as real numbers
            ``(n, C, H, W)``.
        parts: shapes of an input's several tensors, whose numbers a row of the example holds one
            after the other; none where there is one.

    Raises:
        UserError: it fails on the first input.
    """

    varies_in = "PyTorch"
    calls_alone = True
    #: The user's name for one in the module: the same.
    named = str

    def __init__(
        self,
        module: torch.nn.Module,
        name: str,
        example: NDArray[Any],
        parts: Sequence[tuple[int, ...]] = (),
    ) -> None:
        self.module, self._parts = module, parts
        self._device, self._dtype = place_of(module)
        prepared = _as_module_takes(example, self._dtype is not None)
        self.input = _first_parameter(module)
        try:
            with _Makers() as makers:
                answers = named_arrays(makers.kept(self._answer(prepared[:1])))
        except Exception as error:
            raise UserError(f"{name} fails on the first input: {error}") from error
        inputs = (TensorSpec(self.input, str(prepared.dtype), (None, *prepared.shape[1:])),)
        outputs = tuple(
            TensorSpec(key, str(array.dtype), (None, *array.shape[1:]), made_by=maker)
            for (key, array), maker in zip(answers.items(), makers.of_answer, strict=True)
        )
        self.signature = Signature("torch", inputs, outputs, operators=makers.count)
        notes = [*note_device(self._device)]
        if prepared.dtype.kind == "f" and self._dtype not in (None, _torch_dtype(prepared.dtype)):
            dtype = str(self._dtype).removeprefix("torch.")
            notes.append(
                f"inputs {prepared.dtype} are given as {dtype}, the type of its parameters"
            )
        some = prepared[:_COMPARED]
        if len(some) > 1 and mixes_inputs(lambda rows: named_arrays(self._answer(rows)), some):
            self.fixed_batch = 1
            notes.append("asked one by one: its answer to an input depends on the others of a call")
        self.notes = tuple(notes)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        with ALONE:
            return named_arrays(self._answer(inputs[self.input]))

    @property
    def plain(self) -> torch.nn.Module:
        """The module, or of a compiled one the module that was compiled."""
        return plain_module(self.module)

    def running(self, module: torch.nn.Module) -> ModuleRuntime:
        """Another module in this one's place, which takes and gives the same."""
        other = copy.copy(self)
        other.module = module
        return other

    def _answer(self, array: NDArray[Any]) -> Any:
        import torch

        arrays = [array]
        if self._parts:
            ends = np.cumsum([math.prod(shape) for shape in self._parts])[:-1]
            pieces = zip(np.split(array, ends, axis=1), self._parts, strict=True)
            arrays = [piece.reshape(-1, *shape) for piece, shape in pieces]
        tensors = [as_tensor(part, self._device, self._dtype) for part in arrays]
        with torch.no_grad():
            return self.module(*tensors)


def place_of(module: Any) -> tuple[torch.device, torch.dtype | None]:
    """The device of a module or program, and the type of its real numbers; None without any."""
    import torch

    tensors = [*module.parameters(), *module.buffers()]
    real = (tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point)
    return tensors[0].device if tensors else torch.device("cpu"), next(real, None)


def as_tensor(array: NDArray[Any], device: torch.device, dtype: torch.dtype | None) -> torch.Tensor:
    """An array as a tensor on a device, real numbers in a type; None for the array's own."""
    import torch

    # A copy: an axis of length 1 may have any stride, which PyTorch takes for an order.
    tensor = torch.from_numpy(array.copy(order="C")).to(device)
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor


def plain_module(module: torch.nn.Module) -> torch.nn.Module:
    """The module, or of a compiled one the module that was compiled."""
    plain: torch.nn.Module = getattr(module, "_orig_mod", module)
    return plain


@contextmanager
def evaluation_mode(module: torch.nn.Module) -> Iterator[bool]:
    """The module as it is used, not trained; afterwards each part is as it was.

    Yields:
        Whether a part of it was in training mode.
    """
    modes = {part: part.training for part in module.modules()}
    with suppress(NotImplementedError):  # exported graphs have one mode
        module.eval()
    changed = any(part.training != mode for part, mode in modes.items())
    try:
        yield changed
    finally:
        with ALONE:
            for part, mode in modes.items():
                part.training = mode


def _as_module_takes(example: NDArray[Any], real: bool) -> NDArray[Any]:
    """Pictures as real numbers with their channels first; everything else as it is."""
    pictures = example.ndim == 4 and example.shape[-1] in (1, 3) and example.dtype == np.uint8
    if pictures and real:
        return np.ascontiguousarray(example.transpose(0, 3, 1, 2), np.float32)
    return example


def _first_parameter(module: torch.nn.Module) -> str:
    """What ``forward`` calls what it takes."""
    names = list(inspect.signature(module.forward).parameters.values())
    plain = bool(names) and names[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return names[0].name if plain else INPUT


def _torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    import torch

    return torch.from_numpy(np.zeros(1, dtype)).dtype


class _Makers:
    """Follows which operator makes each tensor, while a module runs.

    Attributes:
        of_answer: of each tensor of the answer, the operator; empty where it was not seen.
        count: how many operators ran.
    """

    def __init__(self) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        self.of_answer: list[str] = []
        self.count = 0
        #: Tensors stay alive, so that no other one gets their number.
        self._made: dict[int, tuple[Any, str]] = {}
        watch = self._watch

        class Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # PyTorch's own
            def __torch_dispatch__(
                self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                found = operator(*args, **(kwargs or {}))
                watch(operator_of(operator), args, found)
                return found

        self._mode: Any = Mode()  # type: ignore[no-untyped-call]

    def __enter__(self) -> _Makers:
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)

    def kept(self, answer: Any) -> Any:
        """The answer, once the operators of its tensors are noted."""
        from torch.utils import _pytree as pytree

        tensors = [leaf for leaf in pytree.tree_leaves(answer) if hasattr(leaf, "dtype")]
        self.of_answer = [self._made.get(id(tensor), (None, ""))[1] for tensor in tensors]
        self._made.clear()
        return answer

    def _watch(self, operator: str, args: Any, output: Any) -> None:
        self.count += 1
        maker = operator_family(operator)
        if is_form(operator) and args and id(args[0]) in self._made:
            maker = self._made[id(args[0])][1]
        for tensor in output if isinstance(output, tuple | list) else [output]:
            self._made[id(tensor)] = (tensor, maker)
