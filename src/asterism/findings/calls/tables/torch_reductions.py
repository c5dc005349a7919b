"""Functions of PyTorch over axes, in order along an axis, and choices along one."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_SWITCH = (False, True)
_SHAPES = ((3, 5), (), (0, 3))
_PAIRS = (((3, 5), (3, 5)), ((3, 1), (5,)), ((0, 3), (1,)))


@TABLES.register("torch:reductions")
def reductions() -> list[Family]:
    """Over axes, in order along an axis, and choices along an axis."""
    cube = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(),), (floats(1, 1, 4),))
    axes = {"dim": (-1, 0, 1), "keepdim": _SWITCH}
    more = {"dim": (-1, 0, (0, 2), (1, -1)), "keepdim": _SWITCH}
    one = [
        "sum",
        "prod",
        "mean",
        "amax",
        "amin",
        "nansum",
        "nanmean",
        "logsumexp",
        "any",
        "all",
        "count_nonzero",
    ]
    plain = {"dim": (-1, 0, 1)}
    return [
        *(
            Family(f"torch.{n}", f"torch.{n}(x)", cube, dtypes=_ALL)
            for n in [
                "sum",
                "prod",
                "mean",
                "max",
                "min",
                "median",
                "nanmedian",
                "std",
                "var",
                "any",
                "all",
                "argmax",
                "argmin",
                "nansum",
                "nanmean",
                "aminmax",
                "count_nonzero",
                "logsumexp",
                "norm",
                "unique_consecutive",
            ]
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
            for n in ["max", "min", "median", "nanmedian", "argmax", "argmin", "mode"]
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
            for n in ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"]
        ),
        *(
            Family(f"F.{n}", f"F.{n}(x, dim={{dim}})", cube, plain, (*_FLOATS, "int64"))
            for n in ["softmax", "log_softmax", "softmin"]
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
