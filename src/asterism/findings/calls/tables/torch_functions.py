"""Functions of PyTorch on tensors: element by element, reductions, indices, shapes, algebra."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family, Input
from asterism.findings.calls.table import TABLES, floats, ints, of_one, of_two

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


@TABLES.register("torch:reductions")
def reductions() -> list[Family]:
    """Over axes, in order along an axis, and choices along an axis."""
    cube = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(),), (floats(1, 1, 4),))
    axes = {"dim": (-1, 0, 1), "keepdim": _SWITCH}
    more = {"dim": (-1, 0, (0, 2), (1, -1)), "keepdim": _SWITCH}
    one = "sum prod mean amax amin nansum nanmean logsumexp any all count_nonzero".split()
    plain = {"dim": (-1, 0, 1)}
    return [
        *(
            Family(f"torch.{n}", f"torch.{n}(x)", cube, dtypes=_ALL)
            for n in "sum prod mean max min median nanmedian std var any all argmax argmin nansum "
            "nanmean aminmax count_nonzero logsumexp norm unique_consecutive".split()
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, dim={{dim}}"
                + (", keepdim={keepdim})" if n != "count_nonzero" else ")"),
                cube[:2],
                axes
                if n in ("prod", "any", "all")
                else more
                if n != "count_nonzero"
                else {"dim": more["dim"]},
                _ALL,
            )
            for n in one
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, dim={{dim}}, keepdim={{keepdim}})",
                cube,
                axes,
                (*_FLOATS, "int64", "uint8", "bool"),
            )
            for n in "max min median nanmedian argmax argmin mode".split()
        ),
        Family(
            "torch.aminmax",
            "torch.aminmax(x, dim={dim}, keepdim={keepdim})",
            cube,
            axes,
            ("int64", "bool"),
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, dim={{dim}}, correction={{correction}}, keepdim={{keepdim}})",
                cube[:1] + cube[3:],
                {**more, "correction": (1, 0, 2, 0.5, 9)},
                (*_FLOATS, "complex64"),
            )
            for n in ("std", "var", "std_mean", "var_mean")
        ),
        *(
            Family(f"torch.{n}", f"torch.{n}(x, dim={{dim}})", cube, plain, _ALL)
            for n in "cumsum cumprod cummax cummin logcumsumexp".split()
        ),
        *(
            Family(f"F.{n}", f"F.{n}(x, dim={{dim}})", cube, plain, (*_FLOATS, "int64"))
            for n in "softmax log_softmax softmin".split()
        ),
        Family(
            "F.softmax dtype",
            "F.softmax(x, dim=-1, dtype={dtype})",
            cube[:1],
            {"dtype": (Code("torch.float64"), Code("torch.float16"))},
            ("float16", "int64"),
        ),
        *(
            Family(
                f"torch.{n} dtype",
                f"torch.{n}(x, dim=-1, dtype={{dtype}})",
                cube[:1],
                {
                    "dtype": tuple(
                        Code(f"torch.{d}") for d in ("int32", "float16", "bool", "float64")
                    )
                },
                ("int64", "bool", "uint8"),
            )
            for n in ("sum", "prod", "cumsum", "cumprod", "mean")
        ),
        *(
            Family(
                "torch.sort",
                f"torch.{n}(x, dim={{dim}}, descending={{descending}}{stable})",
                cube,
                {"dim": (-1, 0), "descending": _SWITCH},
                (*_FLOATS, "int64", "uint8", "bool"),
            )
            for n, stable in (("sort", ", stable=True"), ("argsort", ", stable=True"))
        ),
        Family(
            "torch.topk",
            "torch.topk(x, {k}, dim={dim}, largest={largest})",
            cube[:1],
            {"k": (2, 1, 0), "dim": (-1, 0), "largest": (True, False)},
            (*_FLOATS, "int64"),
        ),
        Family(
            "torch.kthvalue",
            "torch.kthvalue(x, {k}, dim={dim})",
            cube[:1],
            {"k": (2, 1), "dim": (-1, 0)},
            ("int64",),
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, {{q}}, dim={{dim}}, interpolation={{how}})",
                cube[:1],
                {
                    "q": (0.3, 0.0, 1.0),
                    "dim": (-1, None, 0),
                    "how": ("linear", "lower", "higher", "midpoint", "nearest"),
                },
                ("float64",),
            )
            for n in ("quantile", "nanquantile")
        ),
        Family(
            "torch.linalg.vector_norm",
            "torch.linalg.vector_norm(x, {ord}, dim={dim}, keepdim={keepdim})",
            cube[:1],
            {**more, "ord": (2, 1, 0, 0.5, -1, 3, Code("float('inf')"), Code("float('-inf')"))},
            (*_FLOATS, "complex64"),
        ),
        Family(
            "torch.norm",
            "torch.norm(x, {p}, dim={dim})",
            cube[:1],
            {"p": (2, 1, 0, "fro", Code("float('inf')")), "dim": (-1, (0, 1))},
        ),
        Family(
            "torch.renorm",
            "torch.renorm(x, {p}, {dim}, {most})",
            cube[:1],
            {"p": (2, 1), "dim": (0, 1, -1), "most": (1.0, 0.1)},
        ),
        Family(
            "torch.diff",
            "torch.diff(x, n={n}, dim={dim})",
            cube[:2],
            {"n": (1, 2, 0, 9), "dim": (-1, 0)},
            ("int64", "bool"),
        ),
        Family(
            "torch.gradient",
            "torch.gradient(x, spacing={s}, dim={dim}, edge_order={order})",
            ((floats(4, 5),),),
            {"s": (1, 0.5), "dim": (0, 1), "order": (1, 2)},
        ),
        Family(
            "torch.trapezoid",
            "torch.trapezoid(x, dx={dx}, dim={dim})",
            cube[:1],
            {"dx": (1, 0.5), "dim": (-1, 0)},
        ),
        Family(
            "torch.histc",
            "torch.histc(x, {bins}, {low}, {high})",
            cube[:1],
            {"bins": (4, 1), "low": (-1, 0), "high": (1, 0)},
        ),
        Family(
            "torch.bincount",
            "torch.bincount(x, minlength={least})",
            ((ints(7, below=5),),),
            {"least": (0, 9)},
        ),
        Family(
            "torch.bucketize",
            "torch.bucketize(x, y, right={right}, out_int32={small})",
            ((floats(3, 4), floats(5)),),
            {"right": _SWITCH, "small": _SWITCH},
            ("int64",),
        ),
        Family(
            "torch.searchsorted",
            "torch.searchsorted(torch.sort(x)[0], y, right={right})",
            ((floats(2, 5), floats(2, 3)), (floats(5), floats(2, 3))),
            {"right": _SWITCH},
        ),
        Family(
            "torch.cov",
            "torch.cov(x, correction={c})",
            ((floats(3, 5),), (floats(5),)),
            {"c": (1, 0)},
            ("float64", "complex64"),
        ),
        Family("torch.corrcoef", "torch.corrcoef(x)", ((floats(3, 5),), (floats(5),))),
    ]
