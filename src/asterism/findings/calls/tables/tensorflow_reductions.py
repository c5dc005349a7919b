"""Functions of TensorFlow over axes, in order along an axis, and choices along one."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_FEW = ("int32", "int64", "bool", "uint8")
_SWITCH = (False, True)
_PADDINGS = ("VALID", "SAME")
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("tensorflow:reductions")
def reductions() -> list[Family]:
    """Over axes, in order along an axis, and choices along an axis."""
    axes = {"axis": (None, -1, 0, (0, 2), ()), "keep": _SWITCH}
    return [
        *(
            Family(f"tf.reduce_{n}", f"tf.reduce_{n}(x, {{axis}}, {{keep}})", _CUBE, axes, _ALL)
            for n in ("sum", "mean", "max", "min", "prod", "logsumexp")
        ),
        *(
            Family(f"tf.reduce_{n}", f"tf.reduce_{n}(x > 0, {{axis}}, {{keep}})", _CUBE, axes)
            for n in ("any", "all")
        ),
        *(
            Family(
                f"tf.math.reduce_{n}",
                f"tf.math.reduce_{n}(x, {{axis}}, {{keep}})",
                _CUBE[:1],
                axes,
                ("float16", "complex64"),
            )
            for n in ("std", "variance", "euclidean_norm")
        ),
        *(
            Family(
                f"tf.{n}",
                f"tf.{n}(x, {{axis}}, exclusive={{e}}, reverse={{r}})",
                _CUBE,
                {"axis": (0, -1, 1), "e": _SWITCH, "r": _SWITCH},
                _ALL,
            )
            for n in ("cumsum", "math.cumprod", "math.cumulative_logsumexp")
        ),
        *(
            Family(
                f"tf.{n}",
                f"tf.{n}(x, {{axis}}, {{dtype}})",
                _CUBE,
                {"axis": (0, -1), "dtype": (Code("tf.int64"), Code("tf.int32"))},
                _ALL,
            )
            for n in ("argmax", "argmin")
        ),
        *(
            Family(
                f"tf.{n}",
                f"tf.{n}(x, {{axis}}, {{how}})",
                _CUBE,
                {"axis": (-1, 0), "how": ("ASCENDING", "DESCENDING")},
                _ALL,
            )
            for n in ("sort",)
        ),
        Family(
            "tf.argsort",
            "tf.argsort(x, {axis}, {how}, stable=True)",
            _CUBE,
            {"axis": (-1, 0), "how": ("ASCENDING", "DESCENDING")},
            _ALL,
        ),
        Family("tf.math.top_k", "tf.math.top_k(x, {k})", _CUBE, {"k": (2, 1, 0)}, _ALL),
        Family(
            "tf.nn.in_top_k",
            "tf.math.in_top_k(x, y, {k})",
            ((ints(3, below=5, dtype="int32"), floats(3, 5)),),
            {"k": (2, 1)},
        ),
        *(
            Family(
                f"tf.math.unsorted_segment_{n}",
                f"tf.math.unsorted_segment_{n}(x, y, {{n}})",
                ((floats(5, 3), ints(5, below=4)), (floats(0, 3), ints(0, below=4))),
                {"n": (4, 6)},
                ("int32", "float16"),
            )
            for n in ("sum", "mean", "max", "min", "prod", "sqrt_n")
        ),
        *(
            Family(
                f"tf.math.segment_{n}",
                f"tf.math.segment_{n}(x, [0, 0, 1, 3, 3])",
                ((floats(5, 3),), (floats(5),)),
                {},
                ("int32", "float16"),
            )
            for n in ("sum", "mean", "max", "min", "prod")
        ),
        Family(
            "tf.math.bincount",
            "tf.math.bincount(x, minlength={low}, maxlength={high}, axis={axis})",
            ((ints(3, 6, below=5, dtype="int32"),), (ints(6, below=5, dtype="int32"),)),
            {"low": (None, 7), "high": (None, 3), "axis": (None, -1)},
        ),
        Family(
            "tf.histogram_fixed_width",
            "tf.histogram_fixed_width(x, [{low}, {high}], {n})",
            ((floats(9),),),
            {"low": (-1.0, 0.0), "high": (1.0, 0.5), "n": (5, 1)},
        ),
        Family(
            "tf.searchsorted",
            "tf.searchsorted(tf.sort(x), y, {side})",
            ((floats(2, 5), floats(2, 3)), (floats(5), floats(3))),
            {"side": ("left", "right")},
            ("int32",),
        ),
        Family(
            "tf.math.confusion_matrix",
            "tf.math.confusion_matrix(x, y, {n})",
            ((ints(6, below=4), ints(6, below=4)),),
            {"n": (4, 6)},
        ),
        Family("tf.unique", "tf.unique(x)", ((ints(7, below=4),),)),
        Family(
            "tf.nn.moments",
            "tf.nn.moments(x, {axes}, keepdims={keep})",
            _CUBE[:1],
            {"axes": ((0,), (0, 1), (-1,)), "keep": _SWITCH},
            ("float16",),
        ),
    ]
