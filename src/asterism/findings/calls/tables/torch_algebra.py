"""Functions of PyTorch for products, decompositions and transforms."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, of_one, of_two

_FEW = ("int64", "bool", "float16", "complex64")
_SWITCH = (False, True)
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("torch:algebra")
def algebra() -> list[Family]:
    """Products, decompositions, transforms."""
    square = (
        (floats(3, 3),),
        (floats(2, 3, 3),),
        (floats(0, 0),),
        (floats(0, 3, 3),),
        (floats(1, 1),),
    )
    wide = ((floats(3, 4),), (floats(2, 4, 3),), (floats(0, 3),))
    return [
        *of_two(
            "torch.",
            "matmul",
            (
                ((3, 4), (4, 2)),
                ((4,), (4,)),
                ((2, 3, 4), (4,)),
                ((4,), (2, 4, 3)),
                ((3, 0), (0, 2)),
                ((2, 1, 3, 4), (5, 4, 2)),
            ),
            ("float16", "bfloat16", "int64", "uint8", "complex64"),
        ),
        *of_two(
            "torch.",
            "mm",
            (((3, 4), (4, 2)), ((3, 0), (0, 2)), ((1, 4), (4, 1))),
            ("float16", "int64", "complex64"),
        ),
        *of_two(
            "torch.",
            "bmm",
            (((2, 3, 4), (2, 4, 5)), ((2, 3, 0), (2, 0, 5)), ((0, 3, 4), (0, 4, 5))),
            ("float16", "int64"),
        ),
        *of_two(
            "torch.",
            "dot outer inner kron vdot",
            (((4,), (4,)), ((0,), (0,))),
            ("float16", "int64", "complex64"),
        ),
        *of_two("torch.", "mv", (((3, 4), (4,)), ((3, 0), (0,))), ("int64",)),
        *of_two(
            "torch.linalg.", "cross", (((3, 3), (3, 3)), ((3, 3), (1, 3))), ("int64", "float16")
        ),
        Family(
            "torch.tensordot",
            "torch.tensordot(x, y, {dims})",
            ((floats(3, 4), floats(4, 3)),),
            {"dims": (1, 0, ([0, 1], [1, 0]))},
        ),
        Family(
            "torch.einsum",
            "torch.einsum({eq}, x, y)",
            ((floats(2, 3), floats(3, 2)),),
            {
                "eq": (
                    "ij,jk->ik",
                    "ij,ji->",
                    "ij,jk->k",
                    "ij,kl->ijkl",
                    "ij,ji->i",
                    "...i,i...->...",
                )
            },
        ),
        Family(
            "torch.addmm",
            "torch.addmm(x, y, z, beta={b}, alpha={a})",
            (
                (floats(3, 2), floats(3, 4), floats(4, 2)),
                (floats(2), floats(3, 4), floats(4, 2)),
                (floats(1), floats(3, 0), floats(0, 2)),
                (floats(), floats(3, 4), floats(4, 2)),
            ),
            {"b": (1, 0, 0.5, 2), "a": (1, 0, 0.5)},
            ("float16", "bfloat16", "int64"),
        ),
        Family(
            "torch.addmv",
            "torch.addmv(x, y, z, beta={b}, alpha={a})",
            ((floats(3), floats(3, 4), floats(4)), (floats(1), floats(3, 0), floats(0))),
            {"b": (1, 0, 0.5), "a": (1, 0, 0.5)},
            ("int64",),
        ),
        Family(
            "torch.addr",
            "torch.addr(x, y, z, beta={b}, alpha={a})",
            ((floats(3, 4), floats(3), floats(4)), (floats(), floats(3), floats(4))),
            {"b": (1, 0, 0.5), "a": (1, 0, 0.5)},
            ("int64", "bool"),
        ),
        Family(
            "torch.baddbmm",
            "torch.baddbmm(x, y, z, beta={b}, alpha={a})",
            (
                (floats(2, 3, 2), floats(2, 3, 4), floats(2, 4, 2)),
                (floats(2), floats(2, 3, 0), floats(2, 0, 2)),
            ),
            {"b": (1, 0, 0.5), "a": (1, 0, 0.5)},
            ("float16", "int64"),
        ),
        Family(
            "torch.addbmm",
            "torch.addbmm(x, y, z, beta={b}, alpha={a})",
            ((floats(3, 2), floats(2, 3, 4), floats(2, 4, 2)),),
            {"b": (1, 0, 0.5), "a": (1, 0)},
        ),
        Family(
            "F.linear",
            "F.linear(x, y, z)",
            (
                (floats(2, 4), floats(3, 4), floats(3)),
                (floats(4), floats(3, 4), floats(3)),
                (floats(2, 0), floats(3, 0), floats(3)),
                (floats(2, 4), floats(0, 4), floats(0)),
            ),
        ),
        Family(
            "torch.cdist",
            "torch.cdist(x, y, p={p}, compute_mode={how})",
            (
                (floats(3, 4), floats(5, 4)),
                (floats(2, 3, 4), floats(1, 5, 4)),
                (floats(3, 0), floats(5, 0)),
            ),
            {
                "p": (2.0, 1.0, 0.0, 0.5, Code("float('inf')")),
                "how": (
                    "use_mm_for_euclid_dist_if_necessary",
                    "use_mm_for_euclid_dist",
                    "donot_use_mm_for_euclid_dist",
                ),
            },
        ),
        *of_one(
            "torch.linalg.",
            "det slogdet inv matrix_exp eigvalsh svdvals cholesky_ex inv_ex lu lu_factor",
            tuple(i[0].shape for i in square),
            ("float64", "complex64", "float16"),
        ),
        *of_one("torch.linalg.", "pinv matrix_rank", tuple(i[0].shape for i in wide), ("float64",)),
        Family(
            "torch.linalg.matrix_power",
            "torch.linalg.matrix_power(x, {n})",
            square,
            {"n": (2, 0, 3, 1, -1)},
            ("complex64",),
        ),
        Family(
            "torch.linalg.matrix_norm",
            "torch.linalg.matrix_norm(x, {ord}, keepdim={keep})",
            wide[:2],
            {"ord": ("fro", "nuc", 1, -1, 2, -2, Code("float('inf')")), "keep": _SWITCH},
        ),
        Family(
            "torch.linalg.cond",
            "torch.linalg.cond(x, {p})",
            square[:2],
            {"p": (None, 1, 2, "fro", "nuc")},
        ),
        Family(
            "torch.linalg.solve",
            "torch.linalg.solve(x, y)",
            ((floats(3, 3), floats(3)), (floats(2, 3, 3), floats(2, 3, 1))),
        ),
        Family(
            "torch.linalg.solve_triangular",
            "torch.linalg.solve_triangular(x, y, upper={u}, left={l}, unitriangular={t})",
            ((floats(3, 3), floats(3, 3)),),
            {"u": (True, False), "l": (True, False), "t": _SWITCH},
        ),
        Family(
            "torch.linalg.multi_dot",
            "torch.linalg.multi_dot([x, y, z])",
            ((floats(2, 3), floats(3, 4), floats(4, 2)), (floats(3), floats(3, 4), floats(4))),
        ),
        Family(
            "torch.trace",
            "torch.trace(x)",
            ((floats(3, 4),), (floats(0, 3),)),
            {},
            ("int64", "bool", "complex64"),
        ),
        *(
            Family(
                f"torch.fft.{n}",
                f"torch.fft.{n}(x, n={{n}}, dim={{dim}}, norm={{norm}})",
                ((floats(3, 6),), (floats(3, 5),)),
                {"n": (None, 4, 9), "dim": (-1, 0), "norm": (None, "ortho", "forward")},
                ("int64", "complex64"),
            )
            for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        ),
        *(
            Family(
                f"torch.fft.{n}",
                f"torch.fft.{n}(x, dim={{dim}})",
                ((floats(3, 6),),),
                {"dim": ((-2, -1), (0,), (-1, 0))},
                ("complex64",),
            )
            for n in ("fftn", "rfftn", "irfftn", "fftshift", "ifftshift")
        ),
        Family(
            "torch.stft",
            "torch.view_as_real(torch.stft(x, {n}, hop_length={hop}, "
            "window=torch.ones({n}), center={center}, normalized={norm}, return_complex=True))",
            ((floats(2, 20),), (floats(20),)),
            {"n": (8, 5), "hop": (None, 3), "center": (True, False), "norm": _SWITCH},
        ),
        Family("torch.complex", "torch.complex(x, y)", ((floats(3), floats(3)),), {}, ("float64",)),
        Family("torch.polar", "torch.polar(x, y)", ((floats(3), floats(3)),), {}, ("float64",)),
        Family(
            "torch.view_as_real",
            "torch.view_as_real(torch.complex(x, y){conj})",
            ((floats(3), floats(3)),),
            {"conj": (Code(""), Code(" * 2j"), Code(".conj().resolve_conj()"))},
        ),
    ]
