"""Functions of TensorFlow that move and choose elements, and those of linear algebra."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints, of_one, of_two

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_FEW = ("int32", "int64", "bool", "uint8")
_SWITCH = (False, True)
_PADDINGS = ("VALID", "SAME")
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("tensorflow:shapes")
def shapes() -> list[Family]:
    """Elements that move and are chosen, and linear algebra."""
    square = ((floats(3, 3),), (floats(2, 3, 3),), (floats(0, 3, 3),), (floats(1, 1),))
    return [
        Family(
            "tf.roll", "tf.roll(x, {n}, {axis})", _CUBE, {"n": (1, -2, 9), "axis": (0, -1)}, _FEW
        ),
        Family("tf.reverse", "tf.reverse(x, {axes})", _CUBE, {"axes": ([0], [-1, 1], [])}, _FEW),
        Family(
            "tf.reverse_sequence",
            "tf.reverse_sequence(x, [2, 3, 1], seq_axis={s}, batch_axis={b})",
            ((floats(3, 4, 3),),),
            {"s": (1, 2), "b": (0,)},
            _FEW,
        ),
        Family("tf.tile", "tf.tile(x, {n})", _CUBE, {"n": ([1, 2, 1], [2, 1, 3], [0, 1, 1])}, _FEW),
        Family(
            "tf.repeat", "tf.repeat(x, {n}, {axis})", _CUBE, {"n": (2, 0), "axis": (None, 0, -1)}
        ),
        *(
            Family(
                f"tf.pad {m}",
                f"tf.pad(x, {{p}}, {m!r})",
                ((floats(3, 4),),),
                {"p": ([[1, 1], [0, 2]], [[0, 0], [2, 3]], [[2, 2], [1, 1]])},
                (*_FEW, "float16"),
            )
            for m in ("CONSTANT", "REFLECT", "SYMMETRIC")
        ),
        Family(
            "tf.pad value",
            "tf.pad(x, [[1, 1], [0, 2]], constant_values={v})",
            ((floats(3, 4),),),
            {"v": (3, -1)},
            _FEW,
        ),
        Family(
            "tf.gather",
            "tf.gather(x, y, axis={axis}, batch_dims={b})",
            ((floats(3, 4, 2), ints(3, 2, below=2)), (floats(3, 4, 2), ints(3, 0, below=2))),
            {"axis": (1, 0, -1, 2), "b": (0, 1)},
            _FEW,
        ),
        Family(
            "tf.gather_nd",
            "tf.gather_nd(x, y, batch_dims={b})",
            ((floats(3, 4, 2), ints(3, 2, below=2)),),
            {"b": (0, 1)},
            _FEW,
        ),
        Family(
            "tf.scatter_nd",
            "tf.scatter_nd(y, x, {shape})",
            ((floats(3, 2), ints(3, 1, below=4)),),
            {"shape": ([4, 2], [6, 2])},
            _FEW,
        ),
        *(
            Family(
                f"tf.tensor_scatter_nd_{n}",
                f"tf.tensor_scatter_nd_{n}(x, [[3], [0]], y)",
                ((floats(4, 2), floats(2, 2)),),
                {},
                _FEW,
            )
            for n in ("update", "add", "sub", "max", "min")
        ),
        Family(
            "tf.one_hot",
            "tf.one_hot(x, {d}, {on}, {off}, axis={axis})",
            ((ints(2, 3, below=4, dtype="int32"),),),
            {"d": (4, 2, 0), "on": (1.0, 5), "off": (0.0, -1), "axis": (-1, 0, 1)},
            ("int64", "uint8"),
        ),
        Family(
            "tf.strided_slice",
            "x[{i}]",
            ((floats(4, 3, 5),),),
            {
                "i": tuple(
                    map(
                        Code,
                        (
                            "::2",
                            "::-1",
                            "1:-1",
                            "..., -1",
                            ":, tf.newaxis",
                            "3:1",
                            "-9:9",
                            "tf.newaxis, ..., ::3",
                            "-1::-2, 1",
                            "2:0:-1",
                        ),
                    )
                )
            },
            _FEW,
        ),
        Family(
            "tf.slice",
            "tf.slice(x, {b}, {s})",
            ((floats(4, 3, 5),),),
            {"b": ([1, 0, 2], [0, 0, 0]), "s": ([2, -1, 1], [0, 3, 5], [1, 1, -1])},
        ),
        Family(
            "tf.split",
            "tf.split(x, {n}, {axis})",
            ((floats(4, 6),),),
            {"n": (2, [1, 3, 2], [-1, 2]), "axis": (1, -1)},
        ),
        Family(
            "tf.concat",
            "tf.concat([x, y, x], {axis})",
            ((floats(2, 3), floats(2, 3)), (floats(0, 3), floats(2, 3))),
            {"axis": (0,)},
            _FEW,
        ),
        Family(
            "tf.stack",
            "tf.stack([x, y], {axis})",
            ((floats(2, 3), floats(2, 3)),),
            {"axis": (0, -1, 1, -3)},
            _FEW,
        ),
        Family("tf.unstack", "tf.unstack(x, axis={axis})", _CUBE[:1], {"axis": (0, -1)}),
        Family(
            "tf.transpose",
            "tf.transpose(x, {p}, conjugate={c})",
            _CUBE,
            {"p": (None, [0, 2, 1], [2, 0, 1]), "c": _SWITCH},
            (*_FEW, "complex64"),
        ),
        Family("tf.expand_dims", "tf.expand_dims(x, {axis})", _CUBE[:1], {"axis": (0, -1, -4)}),
        Family("tf.squeeze", "tf.squeeze(x, {axis})", _CUBE[2:], {"axis": (None, [0], [-2])}),
        Family(
            "tf.broadcast_to",
            "tf.broadcast_to(x, {s})",
            ((floats(1, 3),), (floats(),)),
            {"s": ([2, 3], [0, 1, 3], [4, 2, 3])},
            _FEW,
        ),
        Family(
            "tf.linalg.band_part",
            "tf.linalg.band_part(x, {a}, {b})",
            square[:3],
            {"a": (-1, 0, 1), "b": (-1, 0, 1)},
            _FEW,
        ),
        Family(
            "tf.linalg.diag",
            "tf.linalg.diag(x, k={k}, padding_value={v})",
            ((floats(2, 3),),),
            {"k": (0, 1, -2), "v": (0, 7)},
            ("int32",),
        ),
        Family(
            "tf.linalg.diag_part",
            "tf.linalg.diag_part(x, k={k}, padding_value={v}, align={a})",
            square[:2],
            {
                "k": (0, 1, (-1, 1)),
                "v": (0, 7),
                "a": ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"),
            },
        ),
        Family(
            "tf.linalg.set_diag",
            "tf.linalg.set_diag(x, y, k={k})",
            ((floats(2, 3, 3), floats(2, 2)),),
            {"k": (1, -1)},
            ("int32",),
        ),
        *of_one(
            "tf.linalg.",
            "det inv logdet trace expm adjoint cholesky eigvalsh slogdet pinv normalize logm",
            tuple(i[0].shape for i in square),
            ("float64", "complex64"),
        ),
        Family("tf.linalg.svd", "tf.linalg.svd(x, compute_uv=False)", square[:3]),
        Family(
            "tf.linalg.matmul",
            "tf.linalg.matmul(x, y, transpose_a={a}, transpose_b={b}, adjoint_b={adj})",
            ((floats(3, 3), floats(3, 3)), (floats(2, 1, 3, 3), floats(4, 3, 3))),
            {"a": _SWITCH, "b": _SWITCH, "adj": (False,)},
            ("int32", "float16", "complex64"),
        ),
        *of_two(
            "tf.", "matmul", (((3, 0), (0, 2)), ((2, 3, 4), (4, 2)), ((1, 4), (4, 1))), ("int32",)
        ),
        Family(
            "tf.tensordot",
            "tf.tensordot(x, y, {axes})",
            ((floats(3, 4), floats(4, 3)),),
            {"axes": (1, 0, [[0, 1], [1, 0]])},
            ("int32",),
        ),
        Family(
            "tf.einsum",
            "tf.einsum({eq}, x, y)",
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
            "tf.linalg.triangular_solve",
            "tf.linalg.triangular_solve(x, y, lower={l}, adjoint={a})",
            ((floats(3, 3), floats(3, 2)),),
            {"l": (True, False), "a": _SWITCH},
        ),
        Family(
            "tf.linalg.cross",
            "tf.linalg.cross(x, y)",
            ((floats(2, 3), floats(2, 3)),),
            {},
            ("int32",),
        ),
        *(
            Family(
                f"tf.signal.{n}",
                f"tf.signal.{n}(x, [{{n}}])",
                ((floats(3, 6),), (floats(3, 5),)),
                {"n": (6, 4, 9)},
            )
            for n in ("rfft",)
        ),
        *(
            Family(
                f"tf.signal.{n}",
                f"tf.signal.{n}(tf.cast(x, tf.complex64))",
                ((floats(3, 6),), (floats(2, 3, 4),)),
            )
            for n in ("fft", "ifft", "fft2d", "irfft", "fftshift")
        ),
        Family(
            "tf.signal.dct",
            "tf.signal.dct(x, {t}, norm={n})",
            ((floats(3, 6),),),
            {"t": (2, 1, 3, 4), "n": (None,)},
        ),
        Family(
            "tf.signal.frame",
            "tf.signal.frame(x, {n}, {s}, pad_end={p})",
            ((floats(2, 9),),),
            {"n": (4, 3), "s": (2, 5), "p": _SWITCH},
        ),
        Family(
            "tf.sequence_mask",
            "tf.sequence_mask(x, {n})",
            ((ints(3, below=5),),),
            {"n": (5, 3, None)},
        ),
        Family(
            "tf.meshgrid",
            "tf.meshgrid(x, y, indexing={i})",
            ((floats(3), floats(2)),),
            {"i": ("xy", "ij")},
        ),
        Family(
            "tf.range",
            "tf.range({a}, {b}, {s}) + x",
            ((floats(),),),
            {"a": (0.0, 5.0), "b": (4.0, -2.0), "s": (1.0, 0.7, -1.5)},
        ),
        Family(
            "tf.linspace",
            "tf.linspace(x, y, {n}, axis={axis})",
            ((floats(2, 3), floats(2, 3)), (floats(), floats())),
            {"n": (4, 1), "axis": (0,)},
        ),
        *(
            Family(
                f"tf.nn.{n}",
                f"tf.nn.{n}(tf.nn.softmax(y), x)",
                ((floats(3, 5), floats(3, 5)), (floats(0, 5), floats(0, 5))),
                {},
                ("float16",),
            )
            for n in ("softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits")
        ),
        Family(
            "sparse_cross_entropy",
            "tf.nn.sparse_softmax_cross_entropy_with_logits(x, y)",
            ((ints(3, below=5), floats(3, 5)),),
        ),
        Family(
            "tf.nn.ctc_loss",
            "tf.nn.ctc_loss(x, y, [2, 3], [6, 5], blank_index={b})",
            ((ints(2, 3, below=3, dtype="int32"), floats(6, 2, 4)),),
            {"b": (3, -1)},
        ),
        Family(
            "tf.nn.embedding_lookup",
            "tf.nn.embedding_lookup(y, x, max_norm={m})",
            ((ints(2, 3, below=4), floats(4, 3)),),
            {"m": (None, 0.5)},
        ),
        Family(
            "tf.while",
            "tf.while_loop(lambda i, a: i < {n}, lambda i, a: (i + 1, a * {m} + x), "
            "[tf.constant(0), x])[1]",
            ((floats(2, 3),),),
            {"n": (3, 0), "m": (0.5, -2.0)},
        ),
        Family(
            "tf.scan",
            "tf.scan(lambda a, b: a * {m} + b, x, reverse={r})",
            ((floats(4, 3),),),
            {"m": (0.5, -1.0), "r": _SWITCH},
        ),
        Family(
            "tf.map_fn",
            "tf.map_fn(lambda a: {f}, x)",
            ((floats(4, 3),), (floats(0, 3),)),
            {"f": (Code("a * 2"), Code("tf.reduce_sum(a)"), Code("tf.sort(a)"))},
        ),
        Family(
            "tf.cond",
            "tf.cond(tf.reduce_sum(x) > {t}, lambda: x * 2, lambda: x - 1)",
            ((floats(4, 3),),),
            {"t": (0.0, 100.0)},
        ),
    ]
