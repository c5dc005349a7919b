"""Functions of JAX: element by element, reductions, shapes, windows and linear algebra."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints, of_one, of_two

_ALL = ("float64", "float16", "bfloat16", "int32", "uint8", "bool", "complex64")
_FEW = ("int32", "float16", "bool")
_SWITCH = (False, True)
_CUBE = ((floats(2, 3, 4),), (floats(1, 1, 4),), (floats(0, 3, 4),))


@TABLES.register("jax:elements")
def elements() -> list[Family]:
    """Element by element."""
    shapes, pairs = ((3, 5), ()), (((3, 5), (3, 5)), ((3, 1), (5,)))
    return [
        *of_one(
            "jnp.",
            "abs arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp "
            "exp2 expm1 fabs fix floor i0 log log1p log2 nan_to_num negative positive rad2deg "
            "reciprocal rint sign signbit sin sinc sinh sqrt square tan tanh trunc angle real "
            "imag conj isfinite spacing",
            shapes,
            _ALL,
        ),
        *of_one(
            "jax.nn.",
            "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu "
            "log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_sign softmax softplus "
            "sparse_plus sparse_sigmoid squareplus standardize",
            ((3, 4),),
            ("float16", "bfloat16"),
        ),
        *of_one(
            "jax.scipy.special.",
            "bessel_jn digamma entr erf erfc erfinv expit expi exp1 gammaln "
            "gamma i0e i1 i1e log_ndtr logit ndtr ndtri spence factorial".replace("bessel_jn ", ""),
            shapes,
            ("float64", "float16"),
            "unit",
        ),
        *of_two(
            "jnp.",
            "add arctan2 bitwise_and copysign divide divmod equal float_power floor_divide "
            "fmax fmin fmod gcd heaviside hypot lcm ldexp left_shift less logaddexp logaddexp2 "
            "logical_xor maximum minimum multiply nextafter power remainder subtract",
            pairs,
            _ALL,
        ),
        *of_two(
            "jax.scipy.special.",
            "beta betaln gammainc gammaincc poch xlog1py xlogy zeta rel_entr kl_div",
            pairs[:1],
            ("float64",),
            "positive",
        ),
        Family("jnp.round", "jnp.round(x, {d})", ((floats(3, 5),),), {"d": (0, 1, -1)}, _FEW),
        Family(
            "jnp.clip",
            "jnp.clip(x, {low}, {high})",
            ((floats(3, 5),),),
            {"low": (-0.5, None, 1.0), "high": (0.5, None)},
            _FEW,
        ),
        Family("jnp.where", "jnp.where(x > 0, x, {v})", ((floats(3, 5),),), {"v": (0, -0.5)}, _FEW),
    ]


@TABLES.register("jax:reductions")
def reductions() -> list[Family]:
    """Over axes, in order along an axis, and choices along an axis."""
    axes = {"axis": (None, -1, (0, 2)), "keep": _SWITCH}
    names = "sum prod mean max min std var any all nansum nanprod nanmean nanmax nanmin ptp median"
    return [
        *(
            Family(f"jnp.{n}", f"jnp.{n}(x, axis={{axis}}, keepdims={{keep}})", _CUBE, axes, _ALL)
            for n in names.split()
        ),
        *(
            Family(f"jnp.{n}", f"jnp.{n}(x, axis={{axis}})", _CUBE, {"axis": (None, -1, 0)}, _ALL)
            for n in ("cumsum", "cumprod", "nancumsum", "argmax", "argmin", "sort", "argsort")
        ),
        *(
            Family(
                f"jax.lax.{n}",
                f"jax.lax.{n}(x, axis={{axis}}, reverse={{r}})",
                _CUBE,
                {"axis": (0, 1), "r": _SWITCH},
                _FEW,
            )
            for n in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
        ),
        *(
            Family(
                f"jnp.{n}",
                f"jnp.{n}(x, {{q}}, axis={{axis}}, method={{m}})",
                _CUBE[:1],
                {
                    "q": (0.3, 0.0),
                    "axis": (-1, None),
                    "m": ("linear", "lower", "higher", "midpoint", "nearest"),
                },
            )
            for n in ("quantile", "nanquantile")
        ),
        Family(
            "jnp.linalg.norm",
            "jnp.linalg.norm(x, {o}, axis={axis})",
            _CUBE[:1],
            {"o": (None, 1, 0, 3, Code("jnp.inf"), Code("-jnp.inf")), "axis": (-1, 0)},
            ("complex64",),
        ),
        Family(
            "jax.nn.logsumexp", "jax.nn.logsumexp(x, axis={axis})", _CUBE[:2], {"axis": (None, -1)}
        ),
        Family(
            "jnp.diff",
            "jnp.diff(x, n={n}, axis={axis})",
            _CUBE[:1],
            {"n": (1, 2, 0), "axis": (-1, 0)},
        ),
        Family(
            "jnp.gradient", "jnp.gradient(x, axis={axis})", ((floats(4, 5),),), {"axis": (0, None)}
        ),
        Family("jnp.histogram", "jnp.histogram(x, {b})", ((floats(9),),), {"b": (4, 1)}),
        Family("jnp.cov", "jnp.cov(x, ddof={d})", ((floats(3, 5),),), {"d": (None, 0)}),
        Family("jnp.corrcoef", "jnp.corrcoef(x)", ((floats(3, 5),),)),
        Family("jax.lax.top_k", "jax.lax.top_k(x, {k})", _CUBE[:2], {"k": (1, 2)}, _FEW),
        *(
            Family(
                f"jax.ops.segment_{n}",
                f"jax.ops.segment_{n}(x, y, 4)",
                ((floats(5, 3), ints(5, below=4)),),
                {},
                ("int32",),
            )
            for n in ("sum", "max", "min", "prod")
        ),
    ]


@TABLES.register("jax:shapes")
def shapes() -> list[Family]:
    """Elements that move and are chosen, windows and linear algebra."""
    square = ((floats(3, 3),), (floats(2, 3, 3),), (floats(1, 1),))
    picture = (floats(1, 3, 6, 5),)
    return [
        Family(
            "jnp.roll", "jnp.roll(x, {n}, {a})", _CUBE, {"n": (1, -2, 9), "a": (0, -1, None)}, _FEW
        ),
        Family(
            "jnp.pad",
            "jnp.pad(x, {p}, {m})",
            ((floats(3, 4),),),
            {
                "p": (1, ((0, 2), (3, 1)), 5),
                "m": (
                    "constant",
                    "edge",
                    "reflect",
                    "symmetric",
                    "wrap",
                    "linear_ramp",
                    "maximum",
                    "mean",
                    "median",
                ),
            },
            _FEW,
        ),
        Family(
            "jnp.take",
            "jnp.take(x, y, axis={a}, mode={m})",
            ((floats(5, 4), ints(3, below=5)), (floats(5, 4), ints(3, below=9))),
            {"a": (0, 1, None), "m": (None, "wrap", "clip", "fill")},
            _FEW,
        ),
        Family(
            "jnp.take_along_axis",
            "jnp.take_along_axis(x, y, {a})",
            ((floats(3, 4), ints(3, 4, below=3)),),
            {"a": (0, 1)},
            _FEW,
        ),
        *(
            Family(
                f"x.at.{n}",
                f"x.at[y].{n}(z{{m}})",
                (
                    (floats(5, 4), ints(3, below=5), floats(3, 4)),
                    (floats(5, 4), ints(3, below=9), floats(3, 4)),
                ),
                {"m": (Code(""), Code(", mode='drop'"), Code(", mode='clip'"))},
                _FEW,
            )
            for n in ("add", "multiply", "min", "max")
        ),
        Family(
            "jnp slices",
            "x[{i}]",
            ((floats(4, 3, 5),),),
            {
                "i": tuple(
                    map(Code, ("::2", "::-1", "..., -1", "-1::-2", "[0, 2], :, [1, 0]", "3:1"))
                )
            },
            _FEW,
        ),
        Family(
            "jax.lax.dynamic_slice",
            "jax.lax.dynamic_slice(x, {s}, (2, 2))",
            ((floats(4, 5),),),
            {"s": ((1, 2), (9, -9), (-1, 4))},
            _FEW,
        ),
        Family(
            "jax.lax.dynamic_update_slice",
            "jax.lax.dynamic_update_slice(x, y, {s})",
            ((floats(4, 5), floats(2, 2)),),
            {"s": ((1, 2), (9, -9), (-1, 4))},
            _FEW,
        ),
        Family(
            "jnp.searchsorted",
            "jnp.searchsorted(jnp.sort(x), y, side={s}, method={m})",
            ((floats(5), floats(2, 3)),),
            {"s": ("left", "right"), "m": ("scan", "sort", "compare_all")},
        ),
        Family(
            "jnp.interp",
            "jnp.interp(x, jnp.sort(y), z, left={left}, period={p})",
            ((floats(4), floats(5), floats(5)),),
            {"left": (None, 7.0), "p": (None, 0.7)},
        ),
        Family(
            "jnp.convolve",
            "jnp.convolve(x, y, {m})",
            ((floats(6), floats(3)), (floats(2), floats(5))),
            {"m": ("full", "same", "valid")},
            ("int32",),
        ),
        *(
            Family(
                f"jax.lax.reduce_window {n}",
                f"jax.lax.reduce_window(x, {start}, jax.lax.{n}, "
                "{w}, {s}, {p}, base_dilation={b}, window_dilation={d})",
                ((floats(6, 5),),),
                {
                    "w": ((2, 3), (1, 1)),
                    "s": ((1, 1), (2, 3)),
                    "p": ("VALID", "SAME", ((1, 0), (2, 3))),
                    "b": ((1, 1), (2, 1)),
                    "d": ((1, 1), (1, 2)),
                },
            )
            for n, start in (("add", "0.0"), ("max", "-jnp.inf"), ("min", "jnp.inf"))
        ),
        Family(
            "jax.lax.conv_general_dilated",
            "jax.lax.conv_general_dilated(x, y, {s}, {p}, "
            "lhs_dilation={b}, rhs_dilation={d}, feature_group_count={g})",
            ((*picture, floats(6, 3, 3, 2)),),
            {
                "s": ((1, 1), (2, 3)),
                "p": ("VALID", "SAME", ((1, 0), (-1, 2))),
                "b": ((1, 1), (2, 1)),
                "d": ((1, 1), (2, 2)),
                "g": (1,),
            },
            ("float16", "bfloat16", "int32"),
        ),
        Family(
            "jax.lax.conv groups",
            "jax.lax.conv_general_dilated(x, y, {s}, {p}, feature_group_count=3)",
            ((*picture, floats(6, 1, 3, 2)),),
            {"s": ((1, 1), (2, 3)), "p": ("VALID", "SAME")},
        ),
        Family(
            "jax.lax.conv_transpose",
            "jax.lax.conv_transpose(x, y, {s}, {p}, rhs_dilation={d}, transpose_kernel={t})",
            ((floats(2, 5, 3), floats(3, 3, 3)),),
            {"s": ((1,), (2,), (3,)), "p": ("SAME", "VALID"), "d": ((1,), (2,)), "t": _SWITCH},
        ),
        Family(
            "jax.image.resize",
            "jax.image.resize(x, {size}, {m}, antialias={a})",
            ((floats(5, 6),),),
            {
                "size": ((3, 9), (10, 2), (1, 1)),
                "a": (True, False),
                "m": ("nearest", "linear", "cubic", "lanczos3", "lanczos5"),
            },
            ("float16",),
        ),
        Family(
            "jax.scipy.ndimage.map_coordinates",
            "jax.scipy.ndimage.map_coordinates(x, [y, y], {o}, {m}, 2.0)",
            ((floats(4, 5), floats(6)),),
            {"o": (0, 1), "m": ("constant", "nearest", "wrap", "mirror", "reflect")},
        ),
        *of_one(
            "jnp.linalg.",
            "det slogdet inv pinv matrix_rank eigvalsh cond",
            tuple(i[0].shape for i in square),
            ("float64", "complex64"),
        ),
        *of_one("jax.scipy.linalg.", "expm sqrtm", ((3, 3),), ("float64",)),
        Family(
            "jnp.linalg.matrix_power",
            "jnp.linalg.matrix_power(x, {n})",
            square[:2],
            {"n": (2, 0, -1, 3)},
        ),
        Family(
            "jax.scipy.linalg.solve_triangular",
            "jax.scipy.linalg.solve_triangular(x, y, trans={t}, lower={l}, unit_diagonal={u})",
            ((floats(3, 3), floats(3, 2)),),
            {"t": (0, 1), "l": _SWITCH, "u": _SWITCH},
            ("complex64",),
        ),
        *of_two(
            "jnp.",
            "matmul dot inner outer kron vdot tensordot",
            (((3, 3), (3, 3)),),
            ("int32", "complex64", "bfloat16"),
        ),
        Family(
            "jnp.einsum",
            "jnp.einsum({e}, x, y)",
            ((floats(2, 3), floats(3, 2)),),
            {"e": ("ij,jk->ik", "ij,ji->", "ij,kl->ijkl", "ij,ji->i", "...i,i...->...")},
        ),
        Family(
            "jnp.cross",
            "jnp.cross(x, y)",
            ((floats(2, 3), floats(2, 3)), (floats(2, 2), floats(2, 3))),
        ),
        *(
            Family(
                f"jnp.fft.{n}",
                f"jnp.fft.{n}(x, {{n}}, norm={{norm}})",
                ((floats(3, 6),),),
                {"n": (None, 4, 9), "norm": (None, "ortho", "forward")},
            )
            for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        ),
        Family(
            "jax.scipy.fft.dct",
            "jax.scipy.fft.dct(x, n={n}, norm={norm})",
            ((floats(3, 6),),),
            {"n": (None, 4, 9), "norm": (None, "ortho")},
        ),
        Family(
            "jnp.unwrap", "jnp.unwrap(x * 9, period={p})", ((floats(3, 6),),), {"p": (6.28, 2.0)}
        ),
        Family(
            "jax.nn.one_hot",
            "jax.nn.one_hot(x, {n}, axis={a})",
            ((ints(2, 3, below=5),),),
            {"n": (5, 3), "a": (-1, 0)},
        ),
        Family(
            "jax.nn.dot_product_attention",
            "jax.nn.dot_product_attention(x, y, z, is_causal={c}, scale={s})",
            ((floats(1, 3, 2, 4), floats(1, 5, 2, 4), floats(1, 5, 2, 4)),),
            {"c": _SWITCH, "s": (None, 0.3)},
        ),
        Family(
            "jax.lax.associative_scan",
            "jax.lax.associative_scan({f}, x, reverse={r}, axis={a})",
            _CUBE[:1],
            {"f": (Code("jnp.add"), Code("jnp.maximum")), "r": _SWITCH, "a": (0, -1)},
        ),
        Family(
            "jax.lax.scan",
            "jax.lax.scan(lambda a, b: (a * {m} + b, a), x[0], x, reverse={r}, unroll={u})",
            _CUBE[:1],
            {"m": (0.5, -1.0), "r": _SWITCH, "u": (1, 3)},
        ),
    ]
