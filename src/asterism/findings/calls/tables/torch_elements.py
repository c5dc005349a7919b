"""Functions of PyTorch that work element by element."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family, Input
from asterism.findings.calls.table import TABLES, floats, of_one, of_two

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_SWITCH = (False, True)
_SHAPES = ((3, 5), (), (0, 3))
_PAIRS = (((3, 5), (3, 5)), ((3, 1), (5,)), ((0, 3), (1,)))


@TABLES.register("torch:elements")
def elements() -> list[Family]:
    """Element by element."""
    return [
        *of_one(
            "torch.",
            "abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad "
            "digamma erf erfc erfinv exp exp2 expm1 floor frac frexp i0 isfinite isinf isnan "
            "isneginf isposinf lgamma log log10 log1p log2 logit logical_not nan_to_num neg "
            "positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc "
            "sinh sqrt square tan tanh trunc bitwise_not conj real isreal",
            _SHAPES,
            _ALL,
        ),
        *of_one(
            "torch.special.",
            "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr erfcx i0e "
            "i1 i1e log_ndtr modified_bessel_i0 modified_bessel_k0 ndtr ndtri psi "
            "scaled_modified_bessel_k0 spherical_bessel_j0",
            _SHAPES[:1],
            ("float64", "int64"),
        ),
        *of_one(
            "F.",
            "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu "
            "logsigmoid mish relu6 selu silu softplus softshrink softsign tanhshrink",
            _SHAPES,
            (*_FLOATS, "int64"),
        ),
        *of_two(
            "torch.",
            "add atan2 bitwise_and copysign "
            "div eq float_power floor_divide fmax fmin fmod gcd ge gt heaviside hypot lcm ldexp "
            "le logaddexp logaddexp2 logical_and logical_xor lt maximum minimum mul ne "
            "nextafter pow remainder sub true_divide xlogy",
            _PAIRS,
            _ALL,
        ),
        *of_two(
            "torch.special.",
            "zeta xlog1py chebyshev_polynomial_t hermite_polynomial_h "
            "laguerre_polynomial_l legendre_polynomial_p",
            _PAIRS[:2],
            ("float64", "int64"),
            "positive",
        ),
        Family(
            "torch.div rounding",
            "torch.div(x, y, rounding_mode={mode})",
            ((floats(3, 5), floats(3, 5)), (floats(3, 5), floats())),
            {"mode": ("floor", "trunc")},
            ("int64", "int32", "uint8", "float16", "bool"),
        ),
        *(
            Family(
                f"x {op} scalar",
                f"x {op} {{scalar}}",
                ((floats(3, 5),), (floats(),)),
                {"scalar": (2, -3, 0.5, True)},
                ("int64", "int32", "uint8", "bool", "float16", "complex64"),
            )
            for op in ("+", "-", "*", "/", "//", "%", "**", "==", "<")
        ),
        *(
            Family(
                f"scalar {op} x",
                f"{{scalar}} {op} x",
                ((floats(3, 5, values="positive"),),),
                {"scalar": (2, 0.5)},
                ("int64", "int32", "uint8", "bool", "float16"),
            )
            for op in ("-", "/", "//", "%", "**")
        ),
        *(
            Family(
                f"x {op} int",
                f"x {op} {{shift}}",
                ((Input((3, 5), "int64"),),),
                {"shift": (1, 3, 0)},
                ("int32", "uint8", "int8"),
            )
            for op in ("<<", ">>", "&", "|", "^")
        ),
        Family(
            "torch.clamp",
            "torch.clamp(x, {low}, {high})",
            (
                (floats(3, 5),),
                (
                    floats(
                        0,
                    ),
                ),
            ),
            {"low": (-0.5, None, 1), "high": (0.5, None, -1)},
            ("int64", "uint8", "bfloat16", "bool"),
        ),
        Family(
            "torch.round decimals",
            "torch.round(x, decimals={decimals})",
            ((floats(3, 5),),),
            {"decimals": (1, 0, -1, 3)},
            ("float64", "int64"),
        ),
        Family(
            "torch.polygamma",
            "torch.polygamma({n}, x)",
            ((floats(3, 5, values="positive"),),),
            {"n": (1, 0, 2, 4)},
            ("float64", "int64"),
        ),
        Family(
            "torch.lerp",
            "torch.lerp(x, y, {w})",
            ((floats(3, 5), floats(3, 5)), (floats(3, 1), floats(5))),
            {"w": (0.3, 0.0, 1.0, 2)},
            (*_FLOATS, "complex64"),
        ),
        Family(
            "torch.addcmul",
            "torch.addcmul(x, y, z, value={value})",
            ((floats(3, 5), floats(3, 5), floats(3, 5)), (floats(), floats(3, 1), floats(5))),
            {"value": (1, 0.5, -2)},
            (*_FLOATS, "int64", "uint8"),
        ),
        Family(
            "torch.addcdiv",
            "torch.addcdiv(x, y, z, value={value})",
            ((floats(3, 5), floats(3, 5), floats(3, 5)),),
            {"value": (1, 0.5)},
            _FLOATS,
        ),
        Family(
            "torch.where",
            "torch.where(x > 0, x, {other})",
            ((floats(3, 5),),),
            {"other": (0, 0.5, -1)},
            ("int64", "uint8", "float16", "bool"),
        ),
        *(
            Family(
                f"F.{name}",
                f"F.{name}(x, {{value}})",
                ((floats(3, 5),),),
                {"value": values},
                (*_FLOATS, "int64"),
            )
            for name, values in (
                ("elu", (1.0, 0.3, -0.5, 0.0)),
                ("celu", (1.0, 0.3, -0.5)),
                ("leaky_relu", (0.01, -0.2, 2.0)),
                ("softplus", (1, 0.3, 20)),
                ("hardshrink", (0.5, 0.0, -0.2)),
                ("softshrink", (0.5, 0.0)),
                (
                    "threshold",
                    (Code("0.1, 20"), Code("-0.3, -1")),
                ),
                ("hardtanh", (Code("-1, 1"), Code("0.2, 0.4"))),
            )
        ),
        Family("F.gelu tanh", "F.gelu(x, approximate='tanh')", ((floats(3, 5),),), {}, _FLOATS),
        Family("F.rrelu", "F.rrelu(x, 0.1, 0.3)", ((floats(3, 5),),), {}, _FLOATS),
        Family(
            "F.prelu",
            "F.prelu(x, y)",
            (
                (floats(2, 3, 4), floats(3)),
                (floats(2, 3), floats(1)),
                (floats(3), floats(1)),
                (floats(), floats(1)),
            ),
        ),
        Family(
            "x.to",
            "x.to({dtype})",
            ((floats(3, 5, values="positive"),),),
            {
                "dtype": tuple(
                    Code(f"torch.{d}")
                    for d in ("int32", "uint8", "bool", "float16", "bfloat16", "complex64", "int8")
                )
            },
            ("int64", "bool", "uint8", "float64"),
        ),
        Family(
            "x.view",
            "x.view({dtype})",
            ((floats(3, 4),),),
            {"dtype": tuple(Code(f"torch.{d}") for d in ("int32", "uint8", "float64", "int16"))},
        ),
    ]
