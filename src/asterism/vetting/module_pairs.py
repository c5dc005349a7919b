"""A module of PyTorch beside its quantised version: parts that differ, exchanged by their names."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from asterism.localisation.tensor_errors import RunningSums, TensorError
from asterism.models.formats import as_array
from asterism.models.signatures.torch import collect_tensors

#: Runs a module on the inputs.
Ask = Callable[[nn.Module], object]


@dataclass(frozen=True)
class ReplacedModule:
    """A module without children that the compressed model computes in another way.

    Attributes:
        name: fully qualified, the same in both models.
        operator: its class in the compressed model; in a graph the operator.
    """

    name: str
    operator: str


class PartExchange(ABC):
    """Two models whose parts can be exchanged by name.

    Attributes:
        parts: the parts that differ.
        applied_by: the line that leaves the parts of the list ``kept`` in float where the model is
            quantised again.
    """

    parts: list[ReplacedModule]
    applied_by: ClassVar[str]

    @property
    def coarse(self) -> Sequence[str]:
        """Names of parts whose weights have smaller errors with 8 bits and a scale by channel."""
        return ()

    @abstractmethod
    def in_float(self, names: Collection[str], finer: Collection[str] = ()) -> nn.Module:
        """The compressed model with some parts in float; both models stay as they are.

        Args:
            names: of these parts.
            finer: of others, among the coarse ones, whose weights get a scale for each channel.
        """

    @abstractmethod
    def errors(self, ask_original: Ask, ask_compressed: Ask) -> list[TensorError]:
        """How far the output of each part is from the original's.

        Args:
            ask_original: runs a module as the original is run.
            ask_compressed: runs it as the compressed model is, on the same inputs in one order.
        """


class ModuleExchange(PartExchange):
    """Modules of the same names, which are exchanged as a whole.

    Args:
        original: in floating point.
        compressed: its quantised version.
    """

    applied_by = (
        "quantize_(model, config, filter_fn=lambda module, name: "
        "isinstance(module, torch.nn.Linear) and name not in kept)"
    )

    def __init__(self, original: nn.Module, compressed: nn.Module) -> None:
        self._both = original, compressed
        self.parts = find_differing_parts(original, compressed)

    def in_float(self, names: Collection[str], finer: Collection[str] = ()) -> nn.Module:
        """See :meth:`PartExchange.in_float`."""
        original, compressed = self._both
        return exchange_parts(compressed, original, names)

    def errors(self, ask_original: Ask, ask_compressed: Ask) -> list[TensorError]:
        """See :meth:`PartExchange.errors`."""
        original, compressed = self._both
        ask_both = lambda: ask_original(original), lambda: ask_compressed(compressed)
        return measure_part_errors(original, compressed, self.parts, ask_both)


def find_differing_parts(original: nn.Module, compressed: nn.Module) -> list[ReplacedModule]:
    """The original's modules that are of another class or have other weights.

    They have no children; or they have weights of their own beside them, as attention has, and then
    are exchanged with all that is in them.

    Args:
        original: in floating point.
        compressed: with modules of the same names.
    """
    others = dict(compressed.named_modules())
    replaced: list[ReplacedModule] = []
    for name, part in original.named_modules():
        whole = not any(part.children()) or any(True for _ in part.parameters(recurse=False))
        within = any(name.startswith(f"{above.name}.") for above in replaced)
        if name in others and name and whole and not within and _differ(part, others[name]):
            replaced.append(ReplacedModule(name, type(others[name]).__name__))
    return replaced


def exchange_parts(
    compressed: nn.Module, original: nn.Module, names: Collection[str], above: str = ""
) -> nn.Module:
    """The compressed module with some parts of the original's; weights are shared with both.

    Args:
        compressed: is left as it is.
        original: whose parts are taken.
        names: the names of the parts, fully qualified.
        above: the name of ``compressed`` within the whole, with a dot.
    """
    clone = copy.copy(compressed)
    clone._modules = dict(compressed._modules)
    for name, part in compressed._modules.items():
        whole = f"{above}{name}"
        if part is None:
            continue
        if whole in names:
            clone._modules[name] = FloatPart(original.get_submodule(whole), part)
        elif any(other.startswith(f"{whole}.") for other in names):
            clone._modules[name] = exchange_parts(part, original, names, f"{whole}.")
    return clone


class FloatPart(nn.Module):
    """A part of the original that replaces the compressed model's part.

    It takes and gives what stands around it: quantised tensors, or real numbers of another type.
    Whatever else is asked of it, such as its weights, is the part's.

    Args:
        part: the original's.
        replaced: the compressed model's, which says how a quantised result is to be scaled.
    """

    def __init__(self, part: nn.Module, replaced: nn.Module) -> None:
        super().__init__()
        self.part = part
        real = [weights for weights in part.parameters() if weights.is_floating_point()]
        self._dtype = real[0].dtype if real else None
        scale, zero = getattr(replaced, "scale", None), getattr(replaced, "zero_point", None)
        self._scale = None if scale is None or zero is None else (float(scale), int(zero))

    def __getattr__(self, name: str) -> Any:
        """See :class:`torch.nn.Module`."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("part"), name)

    def forward(self, tensor: Any, *others: Any, **named: Any) -> Any:
        """The output of the original's part, in the type of the part's first input."""
        if tensor.is_quantized:
            output = self.part(tensor.dequantize())
            scale, zero = self._scale or (tensor.q_scale(), tensor.q_zero_point())
            return torch.quantize_per_tensor(output, float(scale), int(zero), tensor.dtype)
        args, options = pytree.tree_map(lambda value: _as(self._dtype, value), (others, named))
        answer = self.part(_as(self._dtype, tensor), *args, **options)
        return pytree.tree_map(lambda value: _as(tensor.dtype, value), answer)


def _as(dtype: torch.dtype | None, value: Any) -> Any:
    """A tensor of real numbers in another type of such; everything else as it is."""
    both = dtype is not None and dtype.is_floating_point and isinstance(value, torch.Tensor)
    return value.to(dtype) if both and value.is_floating_point() else value


def measure_part_errors(
    original: nn.Module,
    compressed: nn.Module,
    parts: Sequence[ReplacedModule],
    ask_both: tuple[Callable[[], object], Callable[[], object]],
) -> list[TensorError]:
    """How far the output of each part is from the original's, in the order in which they run.

    Args:
        original: in floating point.
        compressed: beside it.
        parts: the parts that differ.
        ask_both: run the original, and the compressed model, on the same inputs in one order.
    """
    theirs: dict[str, list[Any]] = defaultdict(list)
    with _watched(compressed, parts, lambda name, _, output: theirs[name].append(_real(output))):
        ask_both[1]()
    together, alone = (
        defaultdict[str, RunningSums](RunningSums),
        defaultdict[str, RunningSums](RunningSums),
    )
    failed: set[str] = set()

    def compare(name: str, arguments: Any, output: Any) -> None:
        reference = _real(output)
        calls = theirs[name]
        together[name].add(reference, calls.pop(0) if calls else reference[:0])
        try:
            alone[name].add(reference, _real(_called(compressed.get_submodule(name), arguments)))
        except Exception:  # a part may take nothing but quantised tensors
            failed.add(name)

    with _watched(original, parts, compare):
        ask_both[0]()
    known = {part.name: (index, part) for index, part in enumerate(parts)}
    return [
        TensorError(
            tensor=name,
            node=name,
            operator=known[name][1].operator,
            quantised=known[name][0],
            cumulative=sums.difference(),
            own=None if name in failed else alone[name].difference(),
            values=float(sums.values),
        )
        for name, sums in together.items()
    ]


@contextmanager
def _watched(
    module: nn.Module, parts: Sequence[ReplacedModule], seen: Callable[[str, Any, Any], None]
) -> Iterator[None]:
    """Calls a function with the name, the inputs and the output of each part that runs."""

    def hook(name: str) -> Any:
        return lambda _, args, named, output: seen(name, (args, named), output)

    with ExitStack() as hooks:
        for part in parts:
            held = module.get_submodule(part.name).register_forward_hook(
                hook(part.name), with_kwargs=True
            )
            hooks.callback(held.remove)
        yield


def _called(part: nn.Module, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """What a part alone gives for the original's tensors, in the type of its own weights."""
    real = [weights.dtype for weights in part.parameters() if weights.is_floating_point()]
    dtype = real[0] if real else None
    args, named = pytree.tree_map(lambda value: _as(dtype, value), arguments)
    with torch.no_grad():
        return part(*args, **named)


def _real(output: Any) -> Any:
    """The first tensor of an output as real numbers."""
    tensor = output if isinstance(output, torch.Tensor) else next(iter(output))
    return as_array(tensor.detach())


def _differ(module: nn.Module, other: nn.Module) -> bool:
    if type(module) is not type(other):
        return True
    both = [collect_tensors(part.state_dict()) for part in (module, other)]
    return len(both[0]) != len(both[1]) or any(
        mine.dtype != theirs.dtype
        or not np.array_equal(as_array(mine), as_array(theirs), equal_nan=True)
        for mine, theirs in zip(*both, strict=True)
    )
