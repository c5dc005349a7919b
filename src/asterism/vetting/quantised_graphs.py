"""Graphs that PT2E quantised: nodes that take dequantised tensors are put back into float."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import torch
from torch import fx, nn

from asterism.localisation.tensor_errors import RunningSums, TensorError
from asterism.models.formats import as_array
from asterism.models.signatures.torch import modules_of, operator_of
from asterism.vetting.float_weights import (
    BY_CHANNEL,
    DEQUANTISED,
    FloatWeights,
    QuantisedWeights,
    quantise_weights_by_channel,
)
from asterism.vetting.module_pairs import Ask, ModuleExchange, PartExchange, ReplacedModule

#: Gives the user's name for one in a graph.
Named = Callable[[str], str]
#: The error of weights with finer scales, as a share of the error before, is below this.
_FINER = 0.5


def choose_part_exchange(
    original: nn.Module, compressed: nn.Module, named: tuple[Named, Named] = (str, str)
) -> PartExchange:
    """The way in which parts are exchanged: in PT2E's graphs nodes, otherwise modules.

    Args:
        original: in floating point.
        compressed: its quantised version.
        named: the user's name for one in each of them.
    """
    if isinstance(compressed, fx.GraphModule):
        return GraphExchange(original, compressed, named)
    return ModuleExchange(original, compressed)


class GraphExchange(PartExchange):
    """A module beside its graph with quantisers, whose nodes have the modules' names.

    Args:
        original: in floating point.
        compressed: the graph.
        named: see :func:`choose_part_exchange`.
    """

    applied_by = "for name in kept: quantizer.set_module_name_qconfig(name, None)"

    def __init__(
        self, original: nn.Module, compressed: fx.GraphModule, named: tuple[Named, Named]
    ) -> None:
        self._compressed = compressed
        self._weights, self._theirs = FloatWeights(original, named[0]), named[1]
        #: The part of the original that each node of the graph belongs to.
        self._part_of = {node: self._named(node) for node in compressed.graph.nodes}
        operators: dict[str, str] = {}
        for node, name in self._part_of.items():
            if any(_dequantised(node)):
                operators.setdefault(name, operator_of(node.target))
        self.parts = [ReplacedModule(name, operator) for name, operator in operators.items()]

    @cached_property
    def coarse(self) -> Sequence[str]:
        """See :attr:`.PartExchange.coarse`."""
        parts = dict.fromkeys(
            part
            for node, part in self._part_of.items()
            for source in _dequantised(node)
            if _is_constant(source) and self._finer(source, part) is not None
        )
        return list(parts)

    def in_float(self, names: Collection[str], finer: Collection[str] = ()) -> fx.GraphModule:
        """See :meth:`.PartExchange.in_float`."""
        module = fx.GraphModule(self._compressed, copy.deepcopy(self._compressed.graph))
        parts = zip(list(module.graph.nodes), self._part_of.values(), strict=True)
        for node, part in parts:
            for dequantiser in list(_dequantised(node)):
                if part in names:
                    source = self._in_float(module, node, dequantiser, part)
                elif part in finer and _is_constant(dequantiser):
                    source = self._in_channels(module, node, dequantiser, part)
                else:
                    continue
                if source is not None:
                    node.replace_input_with(dequantiser, source)
        module.graph.eliminate_dead_code()
        module.recompile()
        return module

    def errors(self, ask_original: Ask, ask_compressed: Ask) -> list[TensorError]:
        """See :meth:`.PartExchange.errors`; the original is the graph with all nodes in float."""
        whole = self.in_float([part.name for part in self.parts])
        followed = _Followed(whole, self._compressed)
        ask_compressed(followed)
        index = {part.name: number for number, part in enumerate(self.parts)}
        return [
            TensorError(
                tensor=node.name,
                node=self._part_of[node],
                operator=operator_of(node.target),
                quantised=index.get(self._part_of[node]),
                cumulative=followed.together[node.name].difference(),
                own=followed.alone[node.name].difference() if any(_dequantised(node)) else None,
                values=float(followed.together[node.name].values),
            )
            for node in self._compressed.graph.nodes
            if node.name in followed.together
        ]

    def _named(self, node: fx.Node) -> str:
        """The part of the original that a node belongs to; its own name where none is found."""
        name = [self._theirs(str(node.name)), *modules_of(node)][-1]
        if name in self._weights.parts:
            return name
        for dequantiser in _dequantised(node):
            if _is_constant(dequantiser):
                closest = self._weights.closest(_constant(self._compressed, dequantiser))
                if closest is not None:
                    return closest[0]
        return name

    def _in_float(
        self, module: fx.GraphModule, node: fx.Node, dequantiser: fx.Node, part: str
    ) -> fx.Node | None:
        """What stands before quantisation: the tensor itself, or the original's weights."""
        source = dequantiser.args[0]
        assert isinstance(source, fx.Node)
        if operator_of(source.target).startswith("quantize_"):
            before = source.args[0]
            return before if isinstance(before, fx.Node) else None
        closest = self._weights.closest(_constant(self._compressed, dequantiser), part)
        if closest is None:
            return None
        with module.graph.inserting_before(node):
            return _constant_node(module, f"{dequantiser.name}_in_float", closest[1])

    def _finer(self, dequantiser: fx.Node, part: str) -> QuantisedWeights | None:
        """The original's weights with scales by channel; None where they are hardly finer."""
        rounded = _constant(self._compressed, dequantiser)
        closest = self._weights.closest(rounded, part)
        if closest is None or rounded.ndim < 2:
            return None
        finer = quantise_weights_by_channel(closest[1])
        before, after = (_error(one, closest[1]) for one in (rounded, finer.real()))
        return finer if after < _FINER * before else None

    def _in_channels(
        self, module: fx.GraphModule, node: fx.Node, dequantiser: fx.Node, part: str
    ) -> fx.Node | None:
        """Dequantised weights whose scales are by channel; None where there are no finer ones."""
        finer = self._finer(dequantiser, part)
        if finer is None:
            return None
        with module.graph.inserting_before(node):
            stored = [
                _constant_node(module, f"{dequantiser.name}_{number}", tensor)
                for number, tensor in enumerate(finer)
            ]
            return module.graph.call_function(DEQUANTISED, (*stored, *BY_CHANNEL))


class _Followed(nn.Module):
    """Runs two graphs beside each other, and sums up how far the nodes of one are from the other's.

    Args:
        original: the graph in float.
        compressed: the same with quantisers.

    Attributes:
        together: by the node's name, the difference as it is in the compressed graph.
        alone: where the node takes the original's tensors.
    """

    def __init__(self, original: fx.GraphModule, compressed: fx.GraphModule) -> None:
        super().__init__()
        self._original, self._compressed = original, compressed
        self.together, self.alone = (
            defaultdict[str, RunningSums](RunningSums),
            defaultdict[str, RunningSums](RunningSums),
        )

    def forward(self, *inputs: Any) -> Any:
        """The answer of the compressed graph."""
        reference, compressed = (_Values(graph) for graph in (self._original, self._compressed))
        reference.run(*inputs)
        answer = compressed.run(*inputs)
        for node in self._compressed.graph.nodes:
            value = reference.values.get(node.name)
            if node.op != "call_function" or not _is_real(value) or _between(node):
                continue
            true = as_array(value)
            self.together[node.name].add(true, as_array(compressed.values[node.name]))
            if any(_dequantised(node)):
                own = self._own(reference.values, node, again=True)
                self.alone[node.name].add(true, as_array(own))
        return answer

    def _own(self, values: dict[str, Any], value: Any, again: bool = False) -> Any:
        """An argument of a compressed node, computed of the original's tensors; or the node."""
        if not isinstance(value, fx.Node):
            return value
        if value.op == "get_attr":
            return _constant(self._compressed, value)
        if not (again or _between(value)):
            return values[value.name]
        assert callable(value.target)
        args, named = fx.map_arg(
            (value.args, value.kwargs), lambda argument: self._own(values, argument)
        )
        return value.target(*args, **named)


class _Values(fx.Interpreter):
    """Runs a graph, and keeps what each node gives."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, node: fx.Node) -> Any:
        """See :class:`torch.fx.Interpreter`."""
        value = super().run_node(node)
        self.values[node.name] = value
        return value


def _dequantised(node: fx.Node) -> Iterator[fx.Node]:
    """The inputs of a node that come from integers, unless it makes integers or reals itself."""
    if node.op == "call_function" and not _between(node):
        for source in node.all_input_nodes:
            if operator_of(source.target).startswith("dequantize_"):
                yield source


def _between(node: fx.Node) -> bool:
    """Whether a node goes from integers to the real numbers that they stand for, or back.

    Those that choose the scale are among them, and what takes their results apart.
    """
    operator = operator_of(node.target)
    if operator == "getitem":
        node, _ = node.args  # type: ignore[assignment]
        operator = operator_of(node.target)
    return operator.startswith(("quantize_", "dequantize_", "choose_qparams"))


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _is_constant(node: fx.Node) -> bool:
    """Whether a node gives dequantised weights."""
    return _between(node) and all(source.op == "get_attr" for source in node.all_input_nodes)


def _error(rounded: torch.Tensor, weights: torch.Tensor) -> float:
    """How far rounded weights are from the original's, relative to these, mean of all channels."""
    far, size = (one.flatten(1).norm(dim=1) for one in (weights - rounded, weights))
    return float((far / size.clamp_min(torch.finfo(size.dtype).tiny)).mean())


def _constant_node(module: fx.GraphModule, name: str, value: torch.Tensor) -> fx.Node:
    """A node that gives a tensor, which the module keeps from now on."""
    module.register_buffer(name, value)
    return module.graph.get_attr(name)


def _constant(module: fx.GraphModule, node: fx.Node) -> Any:
    """The value of a node that depends on no input."""
    if node.op == "get_attr":
        return attrgetter(str(node.target))(module)
    arguments = (_constant(module, a) if isinstance(a, fx.Node) else a for a in node.args)
    assert callable(node.target)
    return node.target(*arguments)
