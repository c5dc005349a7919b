"""Models of one ONNX operator each: every declared combination of its attributes.

Models of users and generators have layers; the operators below them have options that no layer
reaches. One small model for each shows which of them an upgrade changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import stream
from asterism.versions.subjects import Subject, subject_of

if TYPE_CHECKING:
    import onnx

#: Version of the operators, and of the file format. Old libraries read them too.
_OPSET, _IR = 18, 8
#: The version of most files of users: some attributes have become inputs since.
_OLD_OPSET = 13

Options = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Operator:
    """An operator with what is tried of it.

    Args:
        name: ONNX's name.
        inputs: shapes of its inputs, all float32.
        options: values of each attribute, all combinations of which are tried; None leaves an
            attribute out.
        constants: shapes of float32 weights, or arrays, that follow the inputs; None is left out.
        outputs: how many it has.
        opset: version of the operators, where it needs a newer one.
    """

    name: str
    inputs: tuple[tuple[int, ...], ...]
    options: Options = field(default_factory=dict)
    constants: tuple[tuple[int, ...] | NDArray[Any] | None, ...] = ()
    outputs: int = 1
    opset: int = _OPSET

    def models(self) -> Iterator[tuple[str, onnx.ModelProto]]:
        """A name and a model for every combination of options."""
        for values in product(*self.options.values()):
            chosen = {n: v for n, v in zip(self.options, values, strict=True) if v is not None}
            words = ["x".join(map(str, shape)) for shape in self.inputs if len(self.inputs) > 1]
            words += [f"{name}={_word(value)}" for name, value in chosen.items()]
            words += [_word(c.tolist()) for c in self.constants if isinstance(c, np.ndarray)]
            yield " ".join([self.name, *words]), self._model(chosen)

    def _model(self, attributes: Mapping[str, Any]) -> onnx.ModelProto:
        from onnx import TensorProto, helper, numpy_helper, shape_inference

        read = [f"x{i}" for i in range(len(self.inputs))]
        arrays: list[onnx.TensorProto] = []
        for at, constant in enumerate(self.constants):
            if constant is None:
                read.append("")
                continue
            if isinstance(constant, tuple):
                drawn = stream(0, "operator", self.name, at).normal(size=constant)
                constant = np.abs(drawn).astype(np.float32)  # a variance is not below 0
            arrays.append(numpy_helper.from_array(constant, f"c{at}"))
            read.append(f"c{at}")
        written = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.name, read, written, self.name.lower(), **attributes)
        graph = helper.make_graph(
            [node],
            self.name,
            [
                helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape)
                for i, shape in enumerate(self.inputs)
            ],
            [helper.make_empty_tensor_value_info(name) for name in written],
            arrays,
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR)
        return shape_inference.infer_shapes(model)  # outputs have types


def operator_subjects() -> Iterator[Subject]:
    """Every operator in every combination of its options."""
    for operator in OPERATORS:
        for name, model in operator.models():
            yield subject_of(name, model, 1, {})


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


_LINE, _PLANE = (2, 3, 11), (2, 3, 9, 8)
_SWITCH = (0, 1)
_AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_POOL: Options = {
    "kernel_shape": ([3, 3],),
    "strides": ([1, 1], [2, 2]),
    "pads": (None, [1, 1, 1, 1]),
    "dilations": (None, [2, 2]),
    "ceil_mode": _SWITCH,
}
_CONVOLUTION: Options = {
    "kernel_shape": ([3],),
    "auto_pad": _AUTO_PAD,
    "strides": ([1], [2], [3]),
    "dilations": ([1], [2]),
}
_RECURRENT: Options = {"direction": ("forward", "reverse"), "hidden_size": (4,)}
_RESIZE: Options = {
    "coordinate_transformation_mode": (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
    ),
}
_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
)
_AXIS: Options = {"axis": (0, 1, -1)}

#: All that is tried.
OPERATORS = (
    *(
        Operator(name, (_LINE,))
        for name in (
            *("Abs", "Acos", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor"),
            *("HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu"),
            *("Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt"),
            *("Tan", "Tanh", "ThresholdedRelu", "GlobalAveragePool", "GlobalMaxPool"),
        )
    ),
    *(
        Operator(name, shapes)
        for name in ("Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "PRelu", "Sub", "Sum")
        for shapes in (((2, 5), (2, 5)), ((2, 5), (1, 5)), ((2, 5), (1, 1)))
    ),
    *(Operator(name, (_LINE,), _AXIS) for name in ("Softmax", "LogSoftmax", "Hardmax")),
    *(
        Operator(name, (_LINE,), {"keepdims": _SWITCH}, (_ints(*axes),))
        for name in _REDUCTIONS
        for axes in ((0,), (1,), (-1,), (0, 2))
    ),
    *(
        Operator(name, (_LINE,), {"axes": ([1], [0, 2]), "keepdims": _SWITCH}, opset=_OLD_OPSET)
        for name in _REDUCTIONS
        if name != "ReduceSum"  # whose axes became an input earlier
    ),
    Operator("AveragePool", (_PLANE,), {**_POOL, "count_include_pad": _SWITCH}, opset=19),
    Operator("MaxPool", (_PLANE,), _POOL),
    Operator("LpPool", (_PLANE,), {**_POOL, "p": (1, 2)}),
    *(
        Operator(name, (_PLANE,), {"kernel_shape": ([2, 2],), "auto_pad": _AUTO_PAD[1:]})
        for name in ("AveragePool", "MaxPool")
    ),
    Operator("Conv", (_LINE,), _CONVOLUTION, ((4, 3, 3), (4,))),
    Operator("ConvTranspose", (_LINE,), _CONVOLUTION, ((3, 4, 3), (4,))),
    Operator("Conv", (_PLANE,), {"group": (3,), "pads": (None, [1, 0, 0, 1])}, ((6, 1, 3, 3),)),
    *(
        Operator("Resize", (_PLANE,), {"mode": (mode,), **_RESIZE, "antialias": smooth}, sizes)
        for mode, smooth in (("nearest", (0,)), ("linear", _SWITCH), ("cubic", _SWITCH))
        for sizes in ((None, None, _ints(2, 3, 5, 13)), (None, None, _ints(2, 3, 18, 4)))
    ),
    *(
        Operator("Pad", ((3, 6),), {"mode": modes}, (_ints(*pads),))
        for modes, pads in (
            (("constant", "reflect", "edge"), (1, 2, 2, 3)),
            (("constant", "reflect", "edge"), (1, -2, -1, 3)),
        )
    ),
    *(
        Operator(
            name,
            ((6, 2, 5),),
            {**_RECURRENT, **more},
            ((1, gates * 4, 5), (1, gates * 4, 4), (1, gates * 8)),
            outputs=2,
        )
        for name, gates, more in (
            ("GRU", 3, {"linear_before_reset": _SWITCH, "clip": (None, 0.5)}),
            ("LSTM", 4, {"clip": (None, 0.5), "input_forget": _SWITCH}),
            ("RNN", 1, {"clip": (None, 0.5)}),
        )
    ),
    Operator("BatchNormalization", (_LINE,), {"epsilon": (1e-5, 0.1)}, ((3,), (3,), (3,), (3,))),
    Operator("InstanceNormalization", (_LINE,), {"epsilon": (1e-5, 0.1)}, ((3,), (3,))),
    Operator("LayerNormalization", (_LINE,), {"axis": (-1,)}, ((11,), (11,))),
    Operator("LRN", (_PLANE,), {"size": (3,), "alpha": (0.5,)}),
    Operator("LpNormalization", (_LINE,), {"p": (1, 2), "axis": (0, -1)}),
    Operator("Clip", (_LINE,), {}, (np.array(-0.5, np.float32), np.array(0.5, np.float32))),
    Operator("CumSum", (_LINE,), {"exclusive": _SWITCH, "reverse": _SWITCH}, (_ints(1),)),
    Operator("TopK", (_LINE,), {"axis": (-1,), "largest": _SWITCH}, (_ints(4),), outputs=2),
    *(
        Operator(name, (_LINE,), {"axis": (1, -1), "select_last_index": _SWITCH})
        for name in ("ArgMax", "ArgMin")
    ),
    Operator("MatMul", ((2, 3, 4), (2, 4, 5))),
    Operator("Gemm", ((3, 4),), {"transB": _SWITCH, "alpha": (1.0, 0.3)}, ((4, 4), (4,))),
    Operator("Einsum", ((2, 3, 4), (2, 4, 5)), {"equation": ("bij,bjk->bik", "bij,bjk->ik")}),
    Operator("DepthToSpace", ((2, 8, 2, 3),), {"blocksize": (2,), "mode": ("DCR", "CRD")}),
    Operator("SpaceToDepth", ((2, 2, 4, 6),), {"blocksize": (2,)}),
    Operator("Det", ((2, 4, 4),)),
    Operator("Shrink", (_LINE,), {"bias": (0.1,), "lambd": (0.5,)}),
    Operator("Trilu", ((2, 4, 5),), {"upper": _SWITCH}),
)
