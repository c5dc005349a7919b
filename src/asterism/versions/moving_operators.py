"""ONNX operators that move, choose and compare elements, in combinations of their attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.versions.one_operator import Operator, ints

_LINE, _SWITCH = (2, 3, 11), (0, 1)
_AXES = (0, 1, -1)


def _floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def _grid(*rows: list[int]) -> NDArray[np.int64]:
    return np.array(rows, np.int64)


def _ramp(*shape: int) -> NDArray[Any]:
    size = int(np.prod(shape))
    return np.linspace(-1, 1, size, dtype=np.float32).reshape(shape)


#: All that is tried of them.
MOVING = (
    *(
        Operator("Gather", ((3, 4),), {"axis": (0, 1, -1)}, (indices,))
        for indices in (ints(0, 2, -1), _grid([0, 1], [2, -3]), np.array(1, np.int64))
    ),
    *(
        Operator(
            "GatherElements", ((3, 4),), {"axis": axes}, (_grid([0, 1, 2, 0], [-1, 0, -2, 1]),)
        )
        for axes in ((0,), (-2,))
    ),
    *(
        Operator("GatherND", ((2, 3, 4),), {"batch_dims": (batch,)}, (indices,))
        for batch, indices in ((0, _grid([0, 1], [1, -1])), (1, _grid([2], [-1])), (0, _grid([1])))
    ),
    Operator(
        "ScatterElements",
        ((3, 4),),
        {"axis": (0, 1, -1), "reduction": (None, "add", "mul", "max", "min")},
        (_grid([0, 1, 2], [2, 0, 1]), _ramp(2, 3)),
    ),
    Operator(
        "ScatterElements",
        ((3, 4),),
        {"axis": (1,), "reduction": ("add", "mul", "max", "min")},
        (_grid([0, 0, 2], [1, 1, -1]), _ramp(2, 3)),
    ),
    *(
        Operator("ScatterND", ((4, 3),), {"reduction": kinds}, (indices, _ramp(2, 3)))
        for kinds, indices in (
            ((None, "add", "mul", "max", "min"), _grid([0], [2])),
            (("add", "mul", "max", "min"), _grid([1], [1])),
            (("add",), _grid([-1], [0])),
        )
    ),
    *(
        Operator("Slice", ((4, 5),), {}, (ints(*b), ints(*e), ints(*axes), ints(*steps)))
        for b, e, axes, steps in (
            ((1,), (3,), (0,), (1,)),
            ((-1,), (-9,), (1,), (-1,)),
            ((-1,), (-9,), (1,), (-2,)),
            ((0, 4), (9, 0), (0, 1), (2, -1)),
            ((3,), (1,), (0,), (1,)),
            ((-9,), (9,), (-1,), (3,)),
            ((4,), (-(2**63),), (1,), (-1,)),
        )
    ),
    Operator("Split", ((4, 6),), {"axis": (0, 1, -1), "num_outputs": (2,)}, outputs=2),
    Operator("Split", ((4, 7),), {"axis": (1, -1), "num_outputs": (3,)}, outputs=3),
    Operator("Split", ((4, 6),), {"axis": (1, -1)}, (ints(1, 5),), outputs=2),
    Operator("Split", ((4, 6),), {"axis": (1,)}, (ints(0, 6),), outputs=2),
    Operator("Concat", ((2, 3), (2, 3)), {"axis": (0, 1, -1, -2)}),
    *(
        Operator("Unsqueeze", ((2, 3),), {}, (ints(*a),))
        for a in ((0,), (-1,), (0, 3), (3, 0), (-2,))
    ),
    *(Operator("Squeeze", ((1, 3, 1),), {}, (ints(*a),)) for a in ((0,), (-1,), (0, 2))),
    Operator("Squeeze", ((1, 3, 1),)),
    *(Operator("Expand", ((3, 1),), {}, (ints(*s),)) for s in ((3, 4), (2, 1, 4), (1,), (2, 3, 1))),
    *(Operator("Tile", ((2, 3),), {}, (ints(*n),)) for n in ((2, 1), (1, 3), (0, 1))),
    *(
        Operator("Reshape", ((2, 3, 4),), {"allowzero": (None, 0)}, (ints(*s),))
        for s in ((6, 4), (0, -1), (-1,), (0, 0, 2, 2), (2, 0, -1))
    ),
    Operator("Flatten", (_LINE,), {"axis": (0, 1, 2, 3, -1, -3)}),
    Operator("Transpose", (_LINE,), {"perm": (None, [0, 2, 1], [2, 0, 1])}),
    Operator("Shape", (_LINE,), {"start": (None, 1, -2, -9), "end": (None, 2, -1, 9)}),
    Operator("Size", (_LINE,)),
    Operator("Identity", (_LINE,)),
    Operator("EyeLike", ((3, 4),), {"k": (None, 1, -2, 9), "dtype": (None, 7)}),
    *(
        Operator("OneHot", ((2, 3),), {"axis": (-1, 0, 1, -2)}, (np.array(4, np.int64), values))
        for values in (_floats(0, 1), _floats(-2, 5))
    ),
    Operator("Cast", (_LINE,), {"to": (1, 2, 3, 6, 7, 9, 10, 11)}),
    *(
        Operator(name, ((2, 5), (2, 5)))
        for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
    ),
    *(Operator(name, ((2, 5), (5,))) for name in ("Equal", "Greater", "Less")),
    Operator("Mod", ((2, 5), (2, 5)), {"fmod": (1,)}),
    Operator("Mod", ((2, 5),), {"fmod": (1,)}, (_floats(0.7),)),
    Operator("Pow", ((2, 5),), {}, (np.array(2, np.int64),)),
    Operator("Pow", ((2, 5),), {}, (np.array(3, np.int32),)),
    Operator("Pow", ((2, 5),), {}, (_floats(-2),)),
    Operator("IsNaN", (_LINE,)),
    Operator("IsInf", (_LINE,), {"detect_negative": _SWITCH, "detect_positive": _SWITCH}),
    *(
        Operator("Compress", ((3, 4),), {"axis": axes}, (np.array(chosen),))
        for axes, chosen in (
            ((0, -2), [True, False, True]),
            ((1,), [False, True]),
            ((None,), [True, False, False, True, True]),
        )
    ),
    Operator("NonZero", ((3, 4),)),
    Operator("Unique", ((2, 6),), {"axis": (None, 0, 1), "sorted": _SWITCH}),
    *(
        Operator(
            "ReverseSequence",
            ((4, 4, 2),),
            {"batch_axis": (b,), "time_axis": (t,)},
            (ints(1, 3, 2, 4),),
        )
        for b, t in ((0, 1), (1, 0))
    ),
    *(
        Operator(
            "CumSum", (_LINE,), {"exclusive": _SWITCH, "reverse": _SWITCH}, (np.array(a, np.int64),)
        )
        for a in (0, -1)
    ),
    Operator("TopK", (_LINE,), {"axis": _AXES, "largest": _SWITCH}, (ints(2),), outputs=2),
    *(
        Operator(name, (_LINE,), {"axis": (0,), "keepdims": _SWITCH, "select_last_index": _SWITCH})
        for name in ("ArgMax", "ArgMin")
    ),
    *(
        Operator(name, (_LINE,), {"axis": (-2, 1), "keepdims": _SWITCH}, opset=11)
        for name in ("ArgMax", "ArgMin")
    ),
    Operator("Flatten", (_LINE,), {"axis": (None, 0, 1, -1)}, opset=11),
    *(
        Operator(name, (_LINE,), {"axes": ([1], [-1], [0, 2], None), "keepdims": _SWITCH}, opset=11)
        for name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp")
    ),
    *(
        Operator(name, (_LINE,), {"keepdims": _SWITCH, "noop_with_empty_axes": _SWITCH}, constants)
        for name in (
            *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL1", "ReduceL2", "ReduceProd"),
            *("ReduceMin", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
        )
        for constants in ((), (ints(),))
    ),
    *(
        Operator(
            "Pad",
            ((3, 4),),
            {"mode": ("constant", "reflect", "edge", "wrap")},
            (ints(*pads), *more),
            opset=19,
        )
        for pads, more in (((1, 2, 2, 3), ()), ((0, 0, 0, 0), ()), ((-1, 0, 0, -2), ()))
    ),
    *(
        Operator(
            "Pad", ((3, 4),), {"mode": ("constant",)}, (ints(*p), np.array(v, np.float32), axes)
        )
        for p, v, axes in (
            ((1, 2), 3.0, ints(1)),
            ((1, 2), 3.0, ints(-2)),
            ((1, -1, 0, 2), -2.0, ints(1, 0)),
        )
    ),
    *(
        Operator("Trilu", ((4, 5),), {"upper": _SWITCH}, (np.array(k, np.int64),))
        for k in (1, -2, 9)
    ),
    Operator("CenterCropPad", ((4, 5),), {}, (ints(2, 8),)),
    *(
        Operator("CenterCropPad", ((4, 5),), {"axes": ([a],)}, (ints(n),))
        for a in (0, 1, -1)
        for n in (2, 3, 7, 8)
    ),
    *(
        Operator(name, ((2, 4),), {"alpha": (None, 0.3, -0.5)})
        for name in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu")
    ),
    Operator("Selu", ((2, 4),), {"alpha": (None, 2.0), "gamma": (None, 0.5)}),
    Operator("HardSigmoid", ((2, 4),), {"alpha": (None, 0.5, -0.3), "beta": (None, 0.1)}),
    Operator("Shrink", ((2, 4),), {"bias": (None, -0.2), "lambd": (None, 0.1)}),
    Operator("Gelu", ((2, 4),), {"approximate": ("none", "tanh")}, opset=20),
    *(Operator(name, ((2, 4),)) for name in ("Asin", "Acosh", "Atanh", "Cosh")),
    *(
        Operator("Clip", ((2, 5),), {}, constants)
        for constants in (
            (np.array(0.2, np.float32),),
            (None, np.array(0.2, np.float32)),
            (np.array(0.5, np.float32), np.array(-0.5, np.float32)),
        )
    ),
    Operator("Clip", ((2, 5),), {"min": (None, -0.5), "max": (None, 0.3)}, opset=6),
    *(
        Operator("Einsum", shapes, {"equation": (equation,)})
        for equation, shapes in (
            ("ij->ji", ((3, 4),)),
            ("ii->i", ((3, 3),)),
            ("ii", ((3, 3),)),
            ("...ij->...ji", ((2, 3, 4),)),
            ("ij,j", ((3, 4), (4,))),
            ("i,j->ij", ((3,), (4,))),
            ("bij,bjk", ((2, 3, 4), (2, 4, 5))),
            ("ij,ij->", ((3, 4), (3, 4))),
        )
    ),
    *(
        Operator(
            "Gemm",
            ((4, 4),),
            {"transA": _SWITCH, "transB": (1,), "alpha": (0.5,), "beta": (None, 0.0, 2.0)},
            ((4, 4), shape),
        )
        for shape in ((4,), (4, 1), (1, 4), (1,), ())
    ),
    *(
        Operator("MatMul", shapes)
        for shapes in (
            ((4,), (4,)),
            ((3, 4), (4,)),
            ((4,), (2, 4, 3)),
            ((2, 1, 3, 4), (5, 4, 2)),
        )
    ),
)
