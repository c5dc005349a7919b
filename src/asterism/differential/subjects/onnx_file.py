"""ONNX models as they are: their nodes, and parts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.differential.reference.quantised_operators import is_quantising
from asterism.differential.subjects import (
    INTEGER_BOUND,
    SUBJECTS,
    Arrays,
    FileNode,
    InputSpec,
    ModelFile,
)
from asterism.differential.subjects.onnx_inputs import build_input_specs
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.onnx_files import read_renamed_onnx
from asterism.models.onnx_graphs import node_inputs, sort_nodes

if TYPE_CHECKING:
    import onnx

#: Attributes that ONNX's reference evaluator passes over, or computes by another definition: its
#: LpPool multiplies an average by the size of the whole window, also where it reaches outside, and
#: reductions without axes take absolute values, squares or logarithms where nothing is reduced.
_NOT_IN_REFERENCE = {
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
        ("noop_with_empty_axes",),
    ),
    "GRU": ("clip",),
    "LSTM": ("clip", "input_forget"),
    "LpPool": ("ceil_mode",),
    "RNN": ("clip",),
}
#: Operators whose definition says what comes of NaN: a comparison with it is false, and a branch
#: that is called "otherwise" takes what no condition holds for.
_DEFINED_FOR_NAN = frozenset(
    ("Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Shrink")
)


@dataclass(frozen=True)
class OnnxModelFile(ModelFile):
    """An ONNX model.

    Args:
        name: for the page.
        model: ``onnx.ModelProto``; free sizes are left as they are.
        inputs: in the model's order.
        names: what the user's file calls its parts.
    """

    suffix: ClassVar[str] = ".onnx"

    name: str
    model: onnx.ModelProto
    inputs: tuple[InputSpec, ...]
    names: NameMap = field(default_factory=NameMap, compare=False)

    @property
    def content(self) -> bytes:
        """See :class:`ModelFile`."""
        return bytes(self.model.SerializeToString(deterministic=True))

    @property
    def nodes(self) -> Sequence[FileNode]:
        """Each operator, with what the graphs inside of it read."""
        return [
            FileNode(
                f"{node.op_type} {self.names.theirs(node.name)}".strip(),
                tuple(node_inputs(node)),
                tuple(filter(None, node.output)),
            )
            for node in self.model.graph.node
        ]

    @property
    def outputs(self) -> list[str]:
        """Names of its outputs."""
        return [value.name for value in self.model.graph.output]

    @property
    def declared(self) -> list[str]:
        """See :class:`ModelFile`."""
        from onnx import helper

        kinds = [value.type.tensor_type.elem_type for value in self.model.graph.output]
        return [str(np.dtype(helper.tensor_dtype_to_np_dtype(kind))) for kind in kinds if kind]

    @property
    def coarsest(self) -> str:
        """See :class:`ModelFile`."""
        from onnx import TensorProto

        graph = self.model.graph
        kinds = {constant.data_type for constant in graph.initializer}
        kinds |= {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
        return "float16" if TensorProto.FLOAT16 in kinds else "float32"

    @property
    def quantises(self) -> bool:
        """See :class:`ModelFile`."""
        return is_quantising(node.op_type for node in self.model.graph.node)

    @property
    def is_in_reference(self) -> bool:
        """Whether no node has an attribute that the reference evaluator passes over."""
        return not any(
            attribute.name in _NOT_IN_REFERENCE.get(node.op_type, ())
            and (attribute.i or attribute.f)
            for node in self.model.graph.node
            for attribute in node.attribute
        )

    @property
    def is_defined_for_nan(self) -> bool:
        """See :class:`ModelFile`."""
        return {node.op_type for node in self.model.graph.node} <= _DEFINED_FOR_NAN

    def kinds(self) -> dict[str, np.dtype[Any]]:
        """See :class:`ModelFile`."""
        import onnx

        try:
            graph = onnx.shape_inference.infer_shapes(self.model).graph
        except Exception:  # of a model that no runtime takes either
            graph = self.model.graph
        kinds = {
            value.name: value.type.tensor_type.elem_type
            for value in (*graph.input, *graph.value_info, *graph.output)
        }
        known = {name: kind for name, kind in kinds.items() if kind}
        return {n: np.dtype(onnx.helper.tensor_dtype_to_np_dtype(k)) for n, k in known.items()}

    def fixed(self, inputs: Arrays) -> OnnxModelFile:
        """See :class:`ModelFile`."""
        model = deepcopy(self.model)
        del model.graph.value_info[:]
        values = {value.name: value for value in model.graph.input}
        for spec, array in zip(self.inputs, inputs, strict=True):
            values[spec.name].CopyFrom(_value(spec.name, array))
        specs = tuple(
            replace(s, shape=a.shape, bound=INTEGER_BOUND)
            for s, a in zip(self.inputs, inputs, strict=True)
        )
        return replace(self, model=model, inputs=specs)

    def exposing(self) -> tuple[OnnxModelFile, list[str]]:
        """See :class:`ModelFile`."""
        names = [name for node in self.nodes for name in node.makes]
        model = deepcopy(self.model)
        del model.graph.output[:]
        model.graph.output.extend(_value(name) for name in names)
        return replace(self, model=model), names

    def part(
        self, chosen: Sequence[int], value: Callable[[str], NDArray[Any] | None]
    ) -> tuple[OnnxModelFile, Arrays] | None:
        """See :class:`ModelFile`."""
        graph, every = self.model.graph, self.nodes
        nodes = [every[i] for i in chosen]
        made = [name for node in nodes for name in node.makes]
        constants = {constant.name: constant for constant in graph.initializer}
        read = list(dict.fromkeys(name for node in nodes for name in node.reads))
        outside = [n for n in read if n not in made and n not in constants]
        others = [node for i, node in enumerate(every) if i not in chosen]
        wanted = {*self.outputs, *(name for node in others for name in node.reads)}
        outputs = [n for n in made if n in wanted or n not in read]
        values = {n: array for n in (*outside, *outputs) if (array := value(n)) is not None}
        if not outputs or len(values) < len({*outside, *outputs}):
            return None
        model = deepcopy(self.model)
        for part in ("node", "initializer", "input", "output", "value_info"):
            del getattr(model.graph, part)[:]
        model.graph.node.extend(graph.node[i] for i in chosen)
        model.graph.initializer.extend(constants[n] for n in read if n in constants)
        model.graph.input.extend(_value(n, values[n]) for n in outside)
        model.graph.output.extend(_value(n, values[n]) for n in outputs)
        specs = [InputSpec(n, values[n].shape, str(values[n].dtype)) for n in outside]
        return replace(self, model=model, inputs=tuple(specs)), [values[n] for n in outside]


def make_subject(
    name: str,
    model: onnx.ModelProto,
    size: int,
    shapes: Mapping[str, Sequence[int]],
    names: NameMap | None = None,
) -> OnnxModelFile:
    """A model with sizes for its inputs.

    Args:
        name: the name of the subject.
        model: what to run.
        size: stands for every free size but the first axis', which is the batch.
        shapes: the shapes of inputs by name, with the batch, in place of what the model says.
        names: what the user's file calls the model's parts; None for a model of ours.

    Raises:
        UserError: an input is no tensor of numbers, has an unknown rank, or a shape does not fit.
    """
    constants = {constant.name for constant in model.graph.initializer}
    names = names or NameMap()
    values = {
        names.theirs(value.name): value
        for value in model.graph.input
        if value.name not in constants
    }
    for given in set(shapes) - values.keys():
        known = ", ".join(values)
        raise UserError(f"{name} has no input {given!r} (it has: {known})")
    sort_nodes(model.graph)
    for value in model.graph.output:
        if value.type.HasField("sequence_type") or value.type.HasField("optional_type"):
            raise UserError(f"{name}: the output {names.theirs(value.name)!r} is no tensor")
    return OnnxModelFile(
        name, model, build_input_specs(name, model, values, size, shapes, names), names
    )


@SUBJECTS.register(".onnx")
def read_subject(path: Path, size: int, shapes: Mapping[str, Sequence[int]]) -> OnnxModelFile:
    """A user's model file, see :func:`make_subject`.

    Raises:
        UserError: it is no ONNX file, or cannot be read within the limits.
    """
    file = read_renamed_onnx(path)
    return make_subject(path.stem, file.model, size, shapes, file.names)


def _value(name: str, array: NDArray[Any] | None = None) -> onnx.ValueInfoProto:
    """A value's declaration; of an unknown one its name alone, which runtimes complete."""
    import onnx

    if array is None:
        return onnx.ValueInfoProto(name=name)
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)
