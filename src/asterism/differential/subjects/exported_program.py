"""Programs of ``torch.export`` as models under test: their steps, and parts of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.differential.reference.quantised_operators import QUANTISER
from asterism.differential.subjects import (
    SUBJECTS,
    Arrays,
    FileNode,
    InputSpec,
    ModelFile,
    fitting_shape,
    usual_bound,
)
from asterism.differential.subjects.program_inputs import find_index_bounds, resolve_shapes
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.torch_archive import rewrite_program


@dataclass(frozen=True)
class ProgramFile(ModelFile):
    """A program that ``torch.export.save`` wrote.

    Args:
        name: for the page.
        file: its bytes, in which every name is ours; free sizes are left as they are.
        inputs: in the program's order.
        names: give those of the user's file, which nodes and values have here.
    """

    suffix: ClassVar[str] = ".pt2"

    name: str
    file: bytes
    inputs: tuple[InputSpec, ...]
    names: NameMap

    @property
    def content(self) -> bytes:
        """See :class:`ModelFile`."""
        return self.file

    @cached_property
    def module(self) -> Any:
        """The program as a module whose graph names each step once."""
        import torch

        return torch.export.load(io.BytesIO(self.file)).module(check_guards=False)

    @cached_property
    def _steps(self) -> list[Any]:
        return [node for node in self.module.graph.nodes if node.op == "call_function"]

    @cached_property
    def nodes(self) -> Sequence[FileNode]:
        """Each call of an operator; weights are no steps."""
        return [
            FileNode(
                f"{_operator(node)} {self.names.theirs(node.name)}",
                tuple(n.name for n in node.all_input_nodes if n.op != "get_attr"),
                (node.name,),
            )
            for node in self._steps
        ]

    @property
    def declared(self) -> list[str]:
        """See :class:`ModelFile`."""
        return [kind for node in self._put_out() if (kind := _dtype(node))]

    @property
    def coarsest(self) -> str:
        """See :class:`ModelFile`."""
        found = {_dtype(node) for node in self.module.graph.nodes}
        return "float16" if "float16" in found else "float32"

    @property
    def quantises(self) -> bool:
        """See :class:`ModelFile`."""
        return any(QUANTISER in str(node.target) for node in self._steps)

    def kinds(self) -> dict[str, np.dtype[Any]]:
        """See :class:`ModelFile`."""
        named = {node.name: _dtype(node) for node in self.module.graph.nodes}
        return {name: np.dtype(kind) for name, kind in named.items() if kind}

    def fixed(self, inputs: Arrays) -> ProgramFile:
        """The same program: its parts have the shapes of the inputs that reach them."""
        return self

    def exposing(self) -> tuple[ProgramFile, list[str]]:
        """See :class:`ModelFile`; of values that are tensors of a type that NumPy has."""
        chosen = [node for node in self._steps if _dtype(node)]
        reads = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        values = {s.name: np.zeros(s.shape, s.dtype) for s in self.inputs}
        given = dict(zip(reads, (values[s.name] for s in self.inputs), strict=True))
        return self._program(self._steps, given, chosen), [node.name for node in chosen]

    def part(
        self, chosen: Sequence[int], value: Callable[[str], NDArray[Any] | None]
    ) -> tuple[ProgramFile, Arrays] | None:
        """See :class:`ModelFile`."""
        nodes = [self._steps[i] for i in chosen]
        read = dict.fromkeys(n for node in nodes for n in node.all_input_nodes)
        outside = [n for n in read if n.op != "get_attr" and n not in nodes]
        outputs = [n for n in nodes if any(user not in nodes for user in n.users) and _dtype(n)]
        values = {n: array for n in outside if (array := value(n.name)) is not None}
        if not outputs or len(values) < len(outside):
            return None
        return self._program(nodes, values, outputs), [values[n] for n in outside]

    def _put_out(self) -> list[Any]:
        import torch

        (end,) = (node for node in self.module.graph.nodes if node.op == "output")
        leaves = torch.utils._pytree.tree_leaves(end.args)
        return [leaf for leaf in leaves if isinstance(leaf, torch.fx.Node)]

    def _program(
        self, nodes: Sequence[Any], given: Mapping[Any, NDArray[Any]], outputs: Sequence[Any]
    ) -> ProgramFile:
        """Some steps as a program of their own, exported anew for these inputs."""
        import torch

        graph, root = torch.fx.Graph(), torch.nn.Module()
        made = {node: graph.placeholder(node.name) for node in given}
        for node in dict.fromkeys(n for step in nodes for n in step.all_input_nodes):
            if node.op == "get_attr":
                tensor = attrgetter(node.target)(self.module)
                root.register_buffer(node.name, tensor.detach().clone())
                made[node] = graph.get_attr(node.name)
        for node in nodes:
            made[node] = graph.node_copy(node, made.__getitem__)
        graph.output(tuple(made[node] for node in outputs))
        tensors = tuple(torch.from_numpy(np.array(array)) for array in given.values())
        program = torch.export.export(torch.fx.GraphModule(root, graph), tensors)
        file = io.BytesIO()
        torch.export.save(program, file)
        specs = (InputSpec(n.name, a.shape, str(a.dtype)) for n, a in given.items())
        return ProgramFile(self.name, file.getvalue(), tuple(specs), self.names)


@SUBJECTS.register(".pt2")
def read_program(path: Path, size: int, shapes: Mapping[str, Sequence[int]]) -> ProgramFile:
    """A user's ``.pt2`` file.

    Args:
        path: the path of the file.
        size: stands for every free size but the first axis', which is the batch.
        shapes: the shapes of inputs by name, with the batch, in place of what the program says.

    Raises:
        UserError: it is no such file, could run foreign code, calls TorchAO's operators, or a shape
            does not fit.
    """
    foreign = rewrite_program(path)
    nodes = list(foreign.module().graph.nodes)
    if any(str(node.target).startswith("torchao.") for node in nodes):
        raise UserError(f"{path} calls TorchAO's operators, which no compared library has")
    given = {foreign.names.theirs(n.name): n for n in nodes if n.op == "placeholder"}
    for title, node in given.items():
        if not _dtype(node):
            raise UserError(f"{path}: the input {title!r} is no tensor of a type of NumPy's")
    sizes = resolve_shapes(given, size, shapes)
    bounds = find_index_bounds(nodes, lambda s: s if isinstance(s, int) else size)
    specs = []
    for title, node in given.items():
        stated = [s if isinstance(s, int) else 0 for s in node.meta["val"].shape]
        where = f"{path}: the input {title!r}"
        shape = fitting_shape(stated, sizes[title], size, _dtype(node), where)
        bound = bounds.get(node.name) or usual_bound(title)
        specs.append(InputSpec(node.name, shape, _dtype(node), bound, title))
    return ProgramFile(path.stem, foreign.content, tuple(specs), foreign.names)


def _dtype(node: Any) -> str:
    """NumPy's name of the type of a value; nothing of what is no tensor of such a type."""
    value = node.meta.get("val")
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return name if name in _NUMPY and hasattr(value, "shape") else ""


#: Types that NumPy has under the same name.
_NUMPY = frozenset(
    (
        *("float16", "float32", "float64", "bool"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)


def _operator(node: Any) -> str:
    """``aten.conv2d`` of ``aten.conv2d.default``."""
    return str(node.target).removesuffix(".default")
