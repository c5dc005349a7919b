"""Faults of a converter or a runtime, each as an edit of an ONNX file that is valid otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

#: Edits a model in place; says whether there was something to edit.
Edit = Callable[[ModelProto], bool]


def _nodes(model: ModelProto, *types: str) -> Iterator[NodeProto]:
    return (n for n in model.graph.node if n.op_type in types)


def _attribute(node: NodeProto, name: str, value: Any) -> bool:
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    return True


def _value(node: NodeProto, name: str) -> Any:
    found = (helper.get_attribute_value(a) for a in node.attribute if a.name == name)
    return next(found, None)


def _constant(model: ModelProto, name: str) -> Any:
    return next((t for t in model.graph.initializer if t.name == name), None)


def _changed(model: ModelProto, name: str, change: Callable[[Any], Any]) -> bool:
    """An initializer with other numbers of the same shape."""
    tensor = _constant(model, name)
    if tensor is None:
        return False
    before = numpy_helper.to_array(tensor)
    after = np.ascontiguousarray(change(before.copy()), before.dtype)
    if after.shape != before.shape or np.array_equal(before, after):
        return False
    tensor.CopyFrom(numpy_helper.from_array(after, name))
    return True


def edit_attribute(types: tuple[str, ...], name: str, change: Callable[[Any], Any]) -> Edit:
    """An attribute that the first node of a type has gets another value."""

    def edit(model: ModelProto) -> bool:
        for node in _nodes(model, *types):
            if (value := _value(node, name)) is not None:
                return _attribute(node, name, change(value))
        return False

    return edit


def edit_constant(types: tuple[str, ...], at: int, change: Callable[[Any], Any]) -> Edit:
    """The first constant that nodes of a type read at a place gets other numbers."""

    def edit(model: ModelProto) -> bool:
        found = (n.input[at] for n in _nodes(model, *types) if len(n.input) > at)
        return any(_changed(model, name, change) for name in found)

    return edit


def swap(*types: str) -> Edit:
    """The first two operands of a node are swapped."""

    def edit(model: ModelProto) -> bool:
        for node in _nodes(model, *types):
            if len(node.input) > 1 and node.input[0] != node.input[1]:
                node.input[0], node.input[1] = node.input[1], node.input[0]
                return True
        return False

    return edit


def replace(types: tuple[str, ...], by: str, **attributes: Any) -> Edit:
    """The first node of a type computes something else."""

    def edit(model: ModelProto) -> bool:
        for node in _nodes(model, *types):
            node.op_type = by
            if not attributes and by == "Identity":
                del node.attribute[:]
            for name, value in attributes.items():
                _attribute(node, name, value)
            return True
        return False

    return edit


def behind(types: tuple[str, ...], *chain: tuple[str, dict[str, Any]]) -> Edit:
    """Further nodes of one input each behind the first node of a type."""

    def edit(model: ModelProto) -> bool:
        for at, node in enumerate(model.graph.node):
            if node.op_type not in types:
                continue
            last = node.output[0]
            name = node.output[0] = f"{last}_whole"
            for step, (kind, attributes) in enumerate(chain):
                target = last if step == len(chain) - 1 else f"{last}_{step}"
                model.graph.node.insert(
                    at + 1 + step, helper.make_node(kind, [name], [target], **attributes)
                )
                name = target
            return True
        return False

    return edit


def without_nan(model: ModelProto) -> bool:
    """NaN becomes 0 where the first activation reads it."""
    for at, node in enumerate(model.graph.node):
        if node.op_type in ("Relu", "LeakyRelu", "Conv", "Gemm", "MaxPool"):
            read = node.input[0]
            zero = numpy_helper.from_array(np.zeros((), np.float32), "seeded_zero")
            model.graph.initializer.append(zero)
            nodes = [
                helper.make_node("IsNaN", [read], ["seeded_isnan"]),
                helper.make_node("Where", ["seeded_isnan", "seeded_zero", read], ["seeded_where"]),
            ]
            node.input[0] = "seeded_where"
            for new in reversed(nodes):
                model.graph.node.insert(at, new)
            return True
    return False


def _shifted(pads: list[int]) -> list[int]:
    half = len(pads) // 2
    return [pads[0] + 1, *pads[1:half], pads[half] - 1, *pads[half + 1 :]]


_SUMS = ("Gemm", "MatMul", "Conv", "ConvTranspose")
_HALF = ("Cast", {"to": onnx.TensorProto.FLOAT16}), ("Cast", {"to": onnx.TensorProto.FLOAT})

#: Edits by name.
ONNX_FAULTS: dict[str, Edit] = {
    "dropped_bias": edit_constant(("Conv", "Gemm", "ConvTranspose"), 2, np.zeros_like),
    "dropped_addend": edit_constant(("Add",), 1, np.zeros_like),
    "transposed_weights": edit_constant(("MatMul", "Gemm"), 1, np.transpose),
    "reversed_kernel": edit_constant(("Conv",), 1, lambda w: w[..., ::-1]),
    "reversed_output_channels": edit_constant(_SUMS, 1, lambda w: w[::-1]),
    "one_weight_stale": edit_constant(
        _SUMS, 1, lambda w: np.where(w == w.flat[0], w.flat[0] * 1.05, w)
    ),
    "padding_off_by_one": edit_attribute(("Conv", "MaxPool"), "pads", _shifted),
    "lost_dilation": edit_attribute(("Conv",), "dilations", lambda d: [1] * len(d)),
    "wrong_axis_of_softmax": edit_attribute(("Softmax",), "axis", lambda a: 1),
    "wrong_axis_of_concat": edit_attribute(("Concat",), "axis", lambda a: 0),
    "inverse_transposition": edit_attribute(
        ("Transpose",), "perm", lambda p: np.argsort(p).tolist()
    ),
    "wrong_epsilon": edit_attribute(
        ("BatchNormalization", "LayerNormalization"), "epsilon", lambda e: 100 * e
    ),
    "wrong_slope": edit_attribute(("LeakyRelu",), "alpha", lambda a: 0.01),
    "swapped_operands": swap("Sub", "Div", "Pow"),
    "swapped_parts": swap("Concat"),
    "lost_relu": replace(("Relu",), "Identity"),
    "lost_sigmoid": replace(("Sigmoid",), "Identity"),
    "lost_tanh": replace(("Tanh",), "Identity"),
    "hard_sigmoid": replace(("Sigmoid",), "HardSigmoid"),
    "softsign_for_tanh": replace(("Tanh",), "Softsign"),
    "mean_for_max": replace(("MaxPool",), "AveragePool"),
    "max_for_min": replace(("Min",), "Max"),
    "min_for_max": replace(("Max",), "Min"),
    "sum_for_product": replace(("Mul",), "Add"),
    "half_precision": behind(_SUMS, *_HALF),
    "rounded_result": behind(_SUMS, ("Round", {})),
    "ceiling_added": behind(_SUMS, ("Softsign", {})),
    "sign_lost": behind(_SUMS, ("Abs", {})),
    "nan_becomes_zero": without_nan,
}
#: Inputs that show a fault, where ordinary ones do not.
SHOWN_BY = {"nan_becomes_zero": "nan"}


def edited(content: bytes, fault: str) -> bytes | None:
    """A file with a fault; None where the model has nothing that the fault is about."""
    model = onnx.ModelProto()
    model.ParseFromString(content)
    return model.SerializeToString() if ONNX_FAULTS[fault](model) else None
