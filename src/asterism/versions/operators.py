"""Models of one ONNX operator each: every declared combination of its attributes.

Models of users and generators have layers; the operators below them have options that no layer
reaches. One small model for each shows which of them an upgrade changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from asterism.versions.moving_operators import MOVING
from asterism.versions.one_operator import Operator, Options, ints
from asterism.versions.subjects import Subject, subject_of
from asterism.versions.window_operators import WINDOWS

#: The version of most files of users: some attributes have become inputs since.
_OLD_OPSET = 13


def operator_subjects() -> Iterator[Subject]:
    """Every operator in every combination of its options, each model once."""
    seen: dict[str, bytes] = {}
    for operator in OPERATORS:
        for short, model in operator.models():
            content, name = model.SerializeToString(), short
            if short in seen and seen[short] != content:
                shapes = " ".join("x".join(map(str, shape)) for shape in operator.inputs)
                constants = [getattr(c, "shape", c) for c in operator.constants]
                name = f"{short} of {shapes} {constants} opset {operator.opset}"
            if name not in seen:
                seen[name] = content
                yield subject_of(name, model, 1, {})


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
        Operator(name, (_LINE,), {"keepdims": _SWITCH}, (ints(*axes),))
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
        for sizes in ((None, None, ints(2, 3, 5, 13)), (None, None, ints(2, 3, 18, 4)))
    ),
    *(
        Operator("Pad", ((3, 6),), {"mode": modes}, (ints(*pads),))
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
    Operator("CumSum", (_LINE,), {"exclusive": _SWITCH, "reverse": _SWITCH}, (ints(1),)),
    Operator("TopK", (_LINE,), {"axis": (-1,), "largest": _SWITCH}, (ints(4),), outputs=2),
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
    *MOVING,
    *WINDOWS,
)
