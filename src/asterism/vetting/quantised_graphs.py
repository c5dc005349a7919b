"""Graphs that PT2E quantised: nodes that take dequantised tensors are put back into float."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from asterism.localisation.tensor_errors import Sums, TensorError
from asterism.models.runtimes.functions import as_array
from asterism.models.signatures.torch import modules_of, operator_of
from asterism.vetting.module_pairs import Ask, Exchange, ModuleExchange, ReplacedModule

#: How far weights may be from the original's, as a share of their size: further away they are
#: others.
_SAME_WEIGHTS = 0.5


def exchange_of(original: nn.Module, compressed: nn.Module) -> Exchange:
    """How parts are exchanged: PT2E writes quantisation into a graph, all others into modules."""
    if isinstance(compressed, fx.GraphModule):
        return GraphExchange(original, compressed)
    return ModuleExchange(original, compressed)


class GraphExchange(Exchange):
    """A module beside its graph with quantisers, whose nodes have the modules' names.

    Args:
        original: in floating point.
        compressed: the graph.
    """

    applied_by = "for name in kept: quantizer.set_module_name_qconfig(name, None)"

    def __init__(self, original: nn.Module, compressed: fx.GraphModule) -> None:
        self._compressed = compressed
        self._weights = _FloatWeights(original)
        found: dict[str, str] = {}
        for node in compressed.graph.nodes:
            if any(_dequantised(node)):
                found.setdefault(_module_of(node), operator_of(node.target))
        self.parts = [ReplacedModule(name, operator) for name, operator in found.items()]

    def in_float(self, names: Collection[str]) -> fx.GraphModule:
        """See :meth:`.Exchange.in_float`."""
        module = fx.GraphModule(self._compressed, copy.deepcopy(self._compressed.graph))
        for node in list(module.graph.nodes):
            if _module_of(node) in names:
                for given in list(_dequantised(node)):
                    source = self._in_float(module, node, given)
                    if source is not None:
                        node.replace_input_with(given, source)
        module.graph.eliminate_dead_code()
        module.recompile()
        return module

    def errors(self, ask_original: Ask, ask_compressed: Ask) -> list[TensorError]:
        """See :meth:`.Exchange.errors`; the original is the graph with all nodes in float."""
        whole = self.in_float([part.name for part in self.parts])
        followed = _Followed(whole, self._compressed)
        ask_compressed(followed)
        index = {part.name: number for number, part in enumerate(self.parts)}
        return [
            TensorError(
                tensor=node.name,
                node=_module_of(node),
                operator=operator_of(node.target),
                quantised=index.get(_module_of(node)),
                cumulative=followed.together[node.name].difference(),
                own=followed.alone[node.name].difference() if any(_dequantised(node)) else None,
                values=float(followed.together[node.name].values),
            )
            for node in self._compressed.graph.nodes
            if node.name in followed.together
        ]

    def _in_float(self, module: fx.GraphModule, node: fx.Node, given: fx.Node) -> fx.Node | None:
        """What stands before quantisation: the tensor itself, or the original's weights."""
        source = given.args[0]
        assert isinstance(source, fx.Node)
        if operator_of(source.target).startswith("quantize_"):
            before = source.args[0]
            return before if isinstance(before, fx.Node) else None
        weights = self._weights.closest(_constant(self._compressed, given), _module_of(node))
        if weights is None:
            return None
        called = f"_in_float_{given.name}"
        module.register_buffer(called, weights)
        with module.graph.inserting_before(node):
            return module.graph.get_attr(called)


class _FloatWeights:
    """A module's weights, as they are and with each normalisation folded into them that fits.

    Args:
        module: in floating point.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._norms = [
            part
            for part in module.modules()
            if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_var is not None
        ]

    @torch.no_grad()
    def closest(self, rounded: torch.Tensor, name: str) -> torch.Tensor | None:
        """Those weights of a part that quantised ones were made of; None where none are close.

        Args:
            rounded: what the quantised weights stand for.
            name: of the part.
        """
        found = [weights for weights in self._of(name) if weights.shape == rounded.shape]
        far = [float((one - rounded).norm()) / (float(one.norm()) or 1.0) for one in found]
        nearest = min(range(len(found)), key=far.__getitem__, default=None)
        if nearest is None or far[nearest] > _SAME_WEIGHTS:
            return None
        return found[nearest].detach().clone()

    def _of(self, name: str) -> Iterator[torch.Tensor]:
        part = dict(self._module.named_modules()).get(name)
        if part is None:
            return
        yield from part.parameters(recurse=False)
        if isinstance(part, nn.modules.conv._ConvNd) and not part.transposed:
            for norm in self._norms:
                if norm.num_features == part.out_channels:
                    yield from fuse_conv_bn_weights(
                        part.weight, part.bias, norm.running_mean, norm.running_var, norm.eps,
                        norm.weight, norm.bias,
                    )  # fmt: skip


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
        self.together, self.alone = defaultdict[str, Sums](Sums), defaultdict[str, Sums](Sums)

    def forward(self, *given: Any) -> Any:
        """The answer of the compressed graph."""
        wanted, found = (_Values(one) for one in (self._original, self._compressed))
        wanted.run(*given)
        answer = found.run(*given)
        for node in self._compressed.graph.nodes:
            value = wanted.values.get(node.name)
            if node.op != "call_function" or not _is_real(value) or _between(node):
                continue
            true = as_array(value)
            self.together[node.name].add(true, as_array(found.values[node.name]))
            if any(_dequantised(node)):
                own = self._own(wanted.values, node, again=True)
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
        args, named = fx.map_arg((value.args, value.kwargs), lambda one: self._own(values, one))
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
        for given in node.all_input_nodes:
            if operator_of(given.target).startswith("dequantize_"):
                yield given


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


def _constant(module: fx.GraphModule, node: fx.Node) -> Any:
    """The value of a node that depends on no input."""
    if node.op == "get_attr":
        value: Any = module
        for name in str(node.target).split("."):
            value = getattr(value, name)
        return value
    arguments = (_constant(module, a) if isinstance(a, fx.Node) else a for a in node.args)
    assert callable(node.target)
    return node.target(*arguments)


def _module_of(node: fx.Node) -> str:
    """The fully qualified name of the module that a node belongs to; the node's own without one."""
    return [str(node.name), *modules_of(node)][-1]
