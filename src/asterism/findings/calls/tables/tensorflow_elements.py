"""Functions of TensorFlow that work element by element."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family, Input
from asterism.findings.calls.table import TABLES, floats, ints, of_one, of_two

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_FEW = ("int32", "int64", "bool", "uint8")
_SWITCH = (False, True)
_PADDINGS = ("VALID", "SAME")
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("tensorflow:elements")
def elements() -> list[Family]:
    """Element by element."""
    shapes, pairs = ((3, 5), (), (0, 3)), (((3, 5), (3, 5)), ((3, 1), (5,)), ((0, 3), (1,)))
    return [
        *of_one(
            "tf.math.",
            "abs acos acosh angle asin asinh atan atanh bessel_i0 bessel_i1 ceil conj "
            "cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor imag is_finite is_inf is_nan "
            "is_non_decreasing is_strictly_increasing lgamma log log1p log_sigmoid logical_not "
            "ndtri negative nextafter real reciprocal reciprocal_no_nan rint round rsqrt sigmoid "
            "sign sin sinh softplus softsign sqrt square tan tanh".replace("nextafter ", ""),
            shapes,
            _ALL,
        ),
        *of_one(
            "tf.math.special.",
            "bessel_j0 bessel_y1 bessel_k0 dawsn expint fresnel_cos spence",
            shapes[:1],
            ("float64",),
            "positive",
        ),
        *of_one(
            "tf.nn.",
            "elu gelu leaky_relu relu relu6 selu silu crelu l2_loss",
            shapes,
            (*_FLOATS, "int32"),
        ),
        *of_two(
            "tf.math.",
            "add atan2 divide divide_no_nan equal floordiv floormod greater "
            "greater_equal less logical_and logical_xor maximum minimum mod multiply "
            "multiply_no_nan nextafter not_equal pow squared_difference subtract truediv "
            "xdivy xlog1py xlogy",
            pairs,
            _ALL,
        ),
        *of_two("tf.math.", "igamma igammac zeta polygamma", pairs[:2], ("float64",), "positive"),
        *(
            Family(
                f"tf.bitwise.{name}",
                f"tf.bitwise.{name}(x, y)",
                ((ints(3, 5, below=99, dtype="int32"), ints(3, 5, below=7, dtype="int32")),),
                {},
                ("uint8", "int8", "int64"),
            )
            for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
        ),
        *(
            Family(
                f"tf.raw_ops.{n}",
                f"tf.raw_ops.{n}(x=x, y=y)",
                ((floats(3, 5), floats(3, 5)),),
                {},
                ("int32", "float16", "int8"),
            )
            for n in ("TruncateDiv", "TruncateMod", "Div", "FloorMod")
        ),
        Family("tf.nn.gelu", "tf.nn.gelu(x, approximate=True)", ((floats(3, 5),),), {}, _FLOATS),
        Family(
            "tf.nn.leaky_relu",
            "tf.nn.leaky_relu(x, {a})",
            ((floats(3, 5),),),
            {"a": (0.2, -0.5, 0.0, 2.0)},
            _FLOATS,
        ),
        Family(
            "tf.clip_by_value",
            "tf.clip_by_value(x, {low}, {high})",
            ((floats(3, 5),),),
            {"low": (-0.5, 0.3), "high": (0.5, -1.0)},
            ("float16",),
        ),
        *(
            Family(
                f"tf.clip_by_{n}",
                f"tf.clip_by_{n}(x, {{v}})",
                ((floats(3, 5),),),
                {"v": (1.0, 9.0)},
            )
            for n in ("norm", "global_norm")[:1]
        ),
        Family(
            "tf.cast",
            "tf.cast(x, {dtype})",
            ((floats(3, 5, values="positive"),), (Input((3, 5), "int32"),)),
            {
                "dtype": tuple(
                    Code(f"tf.{d}")
                    for d in (
                        "int32",
                        "uint8",
                        "bool",
                        "float16",
                        "bfloat16",
                        "complex64",
                        "int8",
                        "int16",
                        "uint32",
                    )
                )
            },
        ),
        Family(
            "tf.bitcast",
            "tf.bitcast(x, {dtype})",
            ((floats(3, 4),),),
            {"dtype": tuple(Code(f"tf.{d}") for d in ("int32", "uint8", "float64", "int16"))},
        ),
        Family(
            "tf.where",
            "tf.where(x > 0, x, {other})",
            ((floats(3, 5),), (floats(),)),
            {"other": (Code("tf.zeros_like(x)"), Code("tf.ones([5], x.dtype)"))},
            ("int32", "float16"),
        ),
        *(
            Family(
                f"tf.nn.{n}",
                f"tf.nn.{n}(x, {{axis}})",
                ((floats(3, 5),), (floats(5),), (floats(0, 5),)),
                {"axis": (-1, 0)},
                _FLOATS,
            )
            for n in ("softmax", "log_softmax")
        ),
        Family(
            "tf.math.l2_normalize",
            "tf.math.l2_normalize(x, {axis}, {eps})",
            ((floats(3, 5),),),
            {"axis": (None, 0, -1, (0, 1)), "eps": (1e-12, 2.0)},
            ("float16",),
        ),
        Family(
            "tf.quantization.fake_quant_with_min_max_args",
            "tf.quantization.fake_quant_with_min_max_args(x, {low}, {high}, {bits}, {narrow})",
            ((floats(3, 5),),),
            {"low": (-1.0, 0.2, 0.0), "high": (1.0, 0.7), "bits": (8, 2, 16), "narrow": _SWITCH},
        ),
        Family(
            "tf.quantization.quantize_and_dequantize_v2",
            "tf.quantization."
            "quantize_and_dequantize_v2(x, {low}, {high}, range_given={g}, round_mode={r}, "
            "narrow_range={narrow}, num_bits={bits})",
            ((floats(3, 5),),),
            {
                "low": (-1.0, 0.0),
                "high": (1.0, 0.5),
                "g": _SWITCH,
                "r": ("HALF_TO_EVEN", "HALF_UP"),
                "narrow": _SWITCH,
                "bits": (8, 3),
            },
        ),
    ]
