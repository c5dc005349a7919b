"""Functions of PyTorch that move, choose and make elements."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_FEW = ("int64", "bool", "float16", "complex64")
_SWITCH = (False, True)
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("torch:shapes")
def shapes() -> list[Family]:
    """Elements that move, and are chosen."""
    rows = (floats(5, 4), ints(3, below=5))
    return [
        Family(
            "torch.roll",
            "torch.roll(x, {n}, {dim})",
            _CUBE,
            {"n": (1, -2, 9), "dim": (-1, 0, None)},
            _FEW,
        ),
        Family("torch.flip", "torch.flip(x, {dims})", _CUBE, {"dims": ((0,), (-1, 1), ())}, _FEW),
        Family(
            "torch.rot90",
            "torch.rot90(x, {k}, {dims})",
            _CUBE,
            {"k": (1, 2, -1, 4), "dims": ((0, 1), (2, 0))},
            _FEW,
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, {{k}})",
                ((floats(3, 4),), (floats(2, 3, 4),), (floats(0, 4),)),
                {"k": (0, 1, -1, 5)},
                _FEW,
            )
            for n in ("tril", "triu")
        ),
        Family(
            "torch.diag",
            "torch.diag(x, {k})",
            ((floats(3, 4),), (floats(4),), (floats(0),)),
            {"k": (0, 1, -2)},
            _FEW,
        ),
        Family(
            "torch.diagonal",
            "torch.diagonal(x, {k}, {one}, {two})",
            _CUBE,
            {"k": (0, 1, -1, 9), "one": (0, -1), "two": (1,)},
            _FEW,
        ),
        Family(
            "torch.diag_embed",
            "torch.diag_embed(x, {k}, {one}, {two})",
            _CUBE[:1],
            {"k": (0, 1, -2), "one": (-2, 0), "two": (-1, 1)},
            _FEW,
        ),
        Family(
            "torch.diagonal_scatter",
            "torch.diagonal_scatter(x, y, {k})",
            ((floats(4, 4), floats(3)),),
            {"k": (1, -1)},
        ),
        Family(
            "torch.repeat_interleave",
            "torch.repeat_interleave(x, {n}, dim={dim})",
            _CUBE,
            {"n": (2, 0, 3), "dim": (None, 0, -1)},
            _FEW,
        ),
        Family("torch.tile", "torch.tile(x, {n})", _CUBE, {"n": ((2,), (2, 1, 1, 3), (0, 2))}),
        Family("x.repeat", "x.repeat({n})", _CUBE, {"n": ((1, 2, 1), (2, 1, 1, 3), (0, 1, 1))}),
        Family(
            "x.unfold",
            "x.unfold({dim}, {size}, {step})",
            _CUBE[:1],
            {"dim": (-1, 1), "size": (2, 1, 3), "step": (1, 2, 3)},
            _FEW,
        ),
        Family(
            "torch.chunk", "torch.chunk(x, {n}, {dim})", _CUBE, {"n": (2, 3, 9), "dim": (-1, 0)}
        ),
        Family(
            "torch.tensor_split",
            "torch.tensor_split(x, {n}, {dim})",
            _CUBE,
            {"n": (3, (1, 2), (0, 9), (2, 1)), "dim": (-1, 1)},
        ),
        Family(
            "torch.split",
            "torch.split(x, {n}, {dim})",
            _CUBE[:1],
            {"n": (2, 3, (1, 3)), "dim": (-1,)},
        ),
        Family(
            "torch.unflatten",
            "torch.unflatten(x, -1, {size})",
            _CUBE[:2],
            {"size": ((2, 2), (-1, 2), (4, 1, 1))},
        ),
        Family(
            "torch.movedim", "torch.movedim(x, {a}, {b})", _CUBE[:1], {"a": (0, -1), "b": (1, -1)}
        ),
        Family("torch.squeeze", "torch.squeeze(x, {dim})", _CUBE[1:], {"dim": (0, (0, 1), (-1,))}),
        Family(
            "torch.cat",
            "torch.cat([x, y, x], {dim})",
            ((floats(2, 3), floats(2, 3)), (floats(2, 3), floats(0)), (floats(0, 3), floats(2, 3))),
            {"dim": (0, -1)},
            _FEW,
        ),
        Family(
            "torch.cat dtypes",
            "torch.cat([x, y.to({dtype})], 0)",
            ((floats(2, 3), floats(2, 3)),),
            {"dtype": tuple(Code(f"torch.{d}") for d in ("int64", "bool", "float16", "float64"))},
            ("int64", "bool"),
        ),
        Family(
            "torch.stack",
            "torch.stack([x, y], {dim})",
            ((floats(2, 3), floats(2, 3)),),
            {"dim": (0, -1, -3, 2)},
            _FEW,
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}([x, y])",
                ((floats(3, 3), floats(3, 3)), (floats(3), floats(3))),
            )
            for n in ("hstack", "vstack", "dstack", "column_stack")
        ),
        Family(
            "torch.block_diag",
            "torch.block_diag(x, y)",
            (
                (floats(2, 3), floats(3)),
                (floats(0, 2), floats()),
            ),
            {},
            _FEW,
        ),
        Family(
            "torch.gather",
            "torch.gather(x, {dim}, y)",
            ((floats(3, 4), ints(3, 4, below=3)), (floats(3, 4), ints(2, 0, below=3))),
            {"dim": (0, 1, -1)},
            _FEW,
        ),
        Family("torch.take", "torch.take(x, y)", ((floats(3, 4), ints(2, 2, below=12)),), {}, _FEW),
        Family(
            "torch.take_along_dim",
            "torch.take_along_dim(x, y, {dim})",
            ((floats(3, 4), ints(3, 4, below=3)), (floats(3, 4), ints(1, 4, below=3))),
            {"dim": (0, 1, None)},
        ),
        Family(
            "torch.index_select", "torch.index_select(x, {dim}, y)", (rows,), {"dim": (0,)}, _FEW
        ),
        *(
            Family(
                f"torch.{n}",
                f"torch.{n}(x, 0, y, z{more})",
                ((floats(5, 4), ints(3, below=5), floats(3, 4)),),
                options,
                _FEW,
            )
            for n, more, options in (
                ("index_add", ", alpha={alpha}", {"alpha": (1, -2, 0.5)}),
                (
                    "index_reduce",
                    ", {how}, include_self={own}",
                    {"how": ("prod", "mean", "amax", "amin"), "own": (True, False)},
                ),
            )
        ),
        Family(
            "torch.index_copy",
            "torch.index_copy(x, 0, torch.tensor([4, 0, 2]), y)",
            ((floats(5, 4), floats(3, 4)),),
            {},
            _FEW,
        ),
        Family(
            "torch.index_fill",
            "torch.index_fill(x, {dim}, y, {value})",
            ((floats(4, 4), ints(2, below=4)),),
            {"dim": (0, -1), "value": (0.5, -1)},
            _FEW,
        ),
        Family(
            "torch.index_put",
            "torch.index_put(x, (y,), z, accumulate={add})",
            ((floats(5, 4), ints(3, below=5), floats(4)), (floats(5), ints(3, below=5), floats())),
            {"add": (True,)},
            _FEW,
        ),
        Family(
            "torch.scatter_add",
            "torch.scatter_add(x, {dim}, y, z)",
            ((floats(3, 4), ints(2, 3, below=3), floats(3, 4)),),
            {"dim": (0, 1)},
            _FEW,
        ),
        Family(
            "torch.scatter_reduce",
            "torch.scatter_reduce(x, {dim}, y, z, {how}, include_self={own})",
            (
                (floats(3, 4), ints(2, 3, below=3), floats(3, 4)),
                (floats(4), ints(0, below=3), floats(4)),
            ),
            {"dim": (0, -1), "how": ("sum", "prod", "mean", "amax", "amin"), "own": (True, False)},
            _FEW,
        ),
        Family(
            "torch.scatter reduce",
            "torch.scatter(x, 0, y, {value}, reduce={how})",
            ((floats(3, 4), ints(2, 3, below=3)),),
            {"value": (0.5, 2), "how": ("add", "multiply")},
            ("int64", "float16"),
        ),
        Family(
            "torch.masked_fill",
            "torch.masked_fill(x, y > 0, {value})",
            ((floats(3, 4), floats(3, 4)), (floats(3, 4), floats(4)), (floats(), floats())),
            {"value": (0.5, -1, True)},
            _FEW,
        ),
        Family(
            "torch.masked_select",
            "torch.masked_select(x, y > 0)",
            ((floats(3, 4), floats(3, 4)), (floats(3, 1), floats(4))),
        ),
        Family(
            "torch.masked_scatter",
            "torch.masked_scatter(x, x > 0, y)",
            ((floats(3, 4), floats(12)),),
            {},
            ("float16",),
        ),
        Family(
            "torch.nonzero",
            "torch.nonzero(x, as_tuple={t})",
            ((ints(3, 4, below=2),), (ints(below=2),), (ints(0, 3, below=2),)),
            {"t": _SWITCH},
        ),
        Family(
            "torch.select_scatter",
            "torch.select_scatter(x, y, {dim}, {at})",
            ((floats(4, 4), floats(4)),),
            {"dim": (0, -1), "at": (0, -1)},
            _FEW,
        ),
        Family(
            "torch.slice_scatter",
            "torch.slice_scatter(x, y, 0, {start}, {end}, {step})",
            ((floats(6, 2), floats(2, 2)),),
            {"start": (1, -3), "end": (3, 5, -1), "step": (1, 2)},
            _FEW,
        ),
        *(
            Family(
                f"x[{{i}}] {n}",
                "x[{i}]",
                ((floats(4, 3, 5),),),
                {"i": tuple(map(Code, choices))},
                _FEW,
            )
            for n, choices in (
                ("slices", ("::2", "1:-1", "..., -1", ":, None", "3:1", "-9:9", "None, ..., ::3")),
                (
                    "lists",
                    (
                        "[0, 2]",
                        "[0, 2], [1, 0]",
                        ":, [2, 0], ::2",
                        "[[0], [3]], [0, 1]",
                        "[1], :, [0, 4]",
                        "x[..., 0, 0] > 0",
                        "torch.tensor(2)",
                    ),
                ),
            )
        ),
        Family(
            "x[...] =",
            "torch.clone(x).index_put_(({i},), torch.tensor(2, dtype=x.dtype))",
            ((floats(4, 3),),),
            {"i": tuple(map(Code, ("torch.tensor([0, -1])", "x[:, 0] > 0")))},
        ),
        Family(
            "torch.combinations",
            "torch.combinations(x, {r}, {again})",
            ((floats(4),),),
            {"r": (2, 3, 1), "again": _SWITCH},
        ),
        Family("torch.cartesian_prod", "torch.cartesian_prod(x, y)", ((floats(3), floats(2)),)),
        Family(
            "torch.meshgrid",
            "torch.meshgrid(x, y, indexing={how})",
            ((floats(3), floats(2)),),
            {"how": ("ij", "xy")},
        ),
        Family(
            "torch.vander",
            "torch.vander(x, {n}, {up})",
            ((floats(4),),),
            {"n": (None, 3, 0, 1), "up": _SWITCH},
            ("int64",),
        ),
        Family(
            "torch.unique",
            "torch.unique(x, return_inverse={i}, return_counts={c}, dim={dim})",
            ((ints(3, 4, below=3),),),
            {"i": _SWITCH, "c": _SWITCH, "dim": (None, 0, 1)},
        ),
        Family(
            "x.as_strided",
            "x.as_strided({size}, {stride}, {at})",
            ((floats(3, 4),),),
            {"size": ((2, 3),), "stride": ((1, 2), (4, 1), (0, 1)), "at": (0, 2)},
        ),
        Family(
            "torch.arange",
            "torch.arange({a}, {b}, {s}) + x",
            ((floats(),),),
            {"a": (0, 0.5, -1), "b": (5, 6.0), "s": (1, 0.7, 2)},
        ),
        Family(
            "torch.linspace",
            "torch.linspace({a}, {b}, {n}) + x",
            ((floats(),),),
            {"a": (0, -1.5), "b": (5, -3), "n": (4, 1, 7)},
        ),
        Family(
            "torch.logspace",
            "torch.logspace({a}, {b}, {n}, base={base}) + x",
            ((floats(),),),
            {"a": (0, -1), "b": (2, 1), "n": (4, 1), "base": (10, 2, 0.5)},
        ),
        Family(
            "torch.full_like",
            "torch.full_like(x, {v})",
            ((floats(2, 3),),),
            {"v": (2, -0.7, True)},
            ("int64", "uint8", "bool", "float16"),
        ),
        Family(
            "x.bernoulli p",
            "torch.zeros_like(x).bernoulli_({p})",
            ((floats(2, 3),),),
            {"p": (0.0, 1.0)},
        ),
    ]
