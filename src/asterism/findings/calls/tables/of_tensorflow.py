"""Functions of TensorFlow: those of layers, element by element, reductions, and shapes."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family, Input
from asterism.findings.calls.table import TABLES, floats, ints, of_one, of_two

_ALL = ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "bool", "complex64")
_FLOATS = ("float64", "float16", "bfloat16")
_FEW = ("int32", "int64", "bool", "uint8")
_SWITCH = (False, True)
_PADDINGS = ("VALID", "SAME")
_CUBE = ((floats(2, 3, 4),), (floats(0, 3, 4),), (floats(1, 1, 4),))


@TABLES.register("tensorflow:layers")
def layers() -> list[Family]:
    """Convolutions, pooling, resizing, normalisation."""
    picture = floats(2, 6, 5, 3)
    pictures = ((picture,), (floats(1, 1, 1, 2),), (floats(0, 6, 5, 3),))
    return [
        Family(
            "tf.nn.conv1d",
            "tf.nn.conv1d(x, y, {stride}, {padding}, dilations={dilation})",
            ((floats(2, 7, 3), floats(3, 3, 4)), (floats(0, 7, 3), floats(3, 3, 4))),
            {"stride": (1, 2, 4), "padding": _PADDINGS, "dilation": (1, 2)},
            _FLOATS,
        ),
        Family(
            "tf.nn.conv2d",
            "tf.nn.conv2d(x, y, {stride}, {padding}, dilations={dilation})",
            (
                (picture, floats(3, 2, 3, 4)),
                (picture, floats(3, 2, 1, 6)),
                (floats(0, 6, 5, 3), floats(3, 2, 3, 4)),
                (picture, floats(1, 1, 3, 4)),
            ),
            {
                "stride": (1, 2, (1, 3), 7),
                "padding": (*_PADDINGS, [[0, 0], [1, 2], [0, 1], [0, 0]]),
                "dilation": (1, 2, (2, 1)),
            },
            (*_FLOATS, "int32"),
        ),
        Family(
            "tf.nn.conv3d",
            "tf.nn.conv3d(x, y, [1, {s}, {s}, {s}, 1], {padding}, dilations=[1, {d}, {d}, {d}, 1])",
            ((floats(2, 5, 4, 6, 3), floats(2, 3, 2, 3, 4)),),
            {"s": (1, 2, 3), "padding": _PADDINGS, "d": (1, 2)},
            _FLOATS,
        ),
        Family(
            "tf.nn.depthwise_conv2d",
            "tf.nn.depthwise_conv2d(x, y, [1, {s}, {s}, 1], {padding}, dilations=[{d}, {d}])",
            (
                (picture, floats(3, 2, 3, 2)),
                (picture, floats(1, 1, 3, 1)),
                (floats(2, 6, 5, 1), floats(3, 3, 1, 2)),
            ),
            {
                "s": (1, 2, 3),
                "padding": (*_PADDINGS, [[0, 0], [1, 2], [0, 1], [0, 0]]),
                "d": (1, 2),
            },
            _FLOATS,
        ),
        Family(
            "tf.nn.separable_conv2d",
            "tf.nn.separable_conv2d(x, y, z, [1, {s}, {s}, 1], {padding}, dilations=[{d}, {d}])",
            ((picture, floats(3, 2, 3, 2), floats(1, 1, 6, 4)),),
            {"s": (1, 2), "padding": _PADDINGS, "d": (1, 2)},
        ),
        Family(
            "tf.nn.conv2d_transpose",
            "tf.nn.conv2d_transpose(x, y, {size}, {s}, {padding})",
            ((floats(2, 3, 4, 3), floats(3, 2, 5, 3)),),
            {
                "size": ((2, 6, 8, 5), (2, 5, 7, 5), (2, 3, 4, 5), (2, 7, 8, 5)),
                "s": (2, 1),
                "padding": ("SAME", "VALID"),
            },
            _FLOATS,
        ),
        Family(
            "tf.nn.conv3d_transpose",
            "tf.nn.conv3d_transpose(x, y, {size}, {s}, {padding})",
            ((floats(1, 2, 3, 2, 3), floats(2, 2, 2, 4, 3)),),
            {
                "size": ((1, 4, 6, 4, 4), (1, 3, 5, 3, 4), (1, 2, 3, 2, 4)),
                "s": (2, 1),
                "padding": ("SAME", "VALID"),
            },
        ),
        Family(
            "tf.nn.conv1d_transpose",
            "tf.nn.conv1d_transpose(x, y, {size}, {s}, {padding})",
            ((floats(2, 3, 3), floats(2, 4, 3)),),
            {"size": ((2, 6, 4), (2, 5, 4), (2, 3, 4)), "s": (2, 1), "padding": ("SAME", "VALID")},
        ),
        Family(
            "tf.nn.dilation2d",
            "tf.nn.dilation2d(x, y, [1, {s}, {s}, 1], {padding}, 'NHWC', [1, {d}, {d}, 1])",
            ((picture, floats(2, 3, 3)),),
            {"s": (1, 2), "padding": _PADDINGS, "d": (1, 2)},
            (*_FLOATS, "int32"),
        ),
        Family(
            "tf.nn.erosion2d",
            "tf.nn.erosion2d(x, y, [1, {s}, {s}, 1], {padding}, 'NHWC', [1, {d}, {d}, 1])",
            ((picture, floats(2, 3, 3)),),
            {"s": (1, 2), "padding": _PADDINGS, "d": (1, 2)},
        ),
        *(
            Family(
                f"tf.nn.{kind}_pool{rank}d",
                f"tf.nn.{kind}_pool{rank}d(x, {{k}}, {{s}}, {{padding}})",
                (
                    (floats(2, *(7, 6, 5)[:rank], 3),),
                    (floats(0, *(7, 6, 5)[:rank], 3),),
                    (floats(1, *(1,) * rank, 2),),
                ),
                {"k": (2, 3, 1, 9), "s": (1, 2, 4), "padding": ("SAME", "VALID")},
                (*_FLOATS, "int32", "uint8"),
            )
            for kind in ("max", "avg")
            for rank in (1, 2, 3)
        ),
        Family(
            "tf.nn.max_pool_with_argmax",
            "tf.nn.max_pool_with_argmax(x, {k}, {s}, {padding}, include_batch_in_index={batch})",
            pictures,
            {"k": (2, 3), "s": (1, 2), "padding": ("SAME", "VALID"), "batch": _SWITCH},
        ),
        Family(
            "tf.nn.pool",
            "tf.nn.pool(x, {k}, {kind}, {s}, {padding}, dilations={d})",
            pictures[:1],
            {
                "k": ((2, 2), (3, 1)),
                "kind": ("MAX", "AVG"),
                "s": ((1, 1), (2, 1)),
                "padding": _PADDINGS,
                "d": ((1, 1), (2, 2)),
            },
        ),
        Family(
            "tf.image.resize",
            "tf.image.resize(x, {size}, {method}, antialias={smooth})",
            pictures,
            {
                "size": ((3, 4), (9, 8), (6, 5), (1, 1)),
                "method": (
                    "bilinear",
                    "nearest",
                    "bicubic",
                    "area",
                    "lanczos3",
                    "lanczos5",
                    "gaussian",
                    "mitchellcubic",
                ),
                "smooth": _SWITCH,
            },
            ("uint8", "float16"),
        ),
        *(
            Family(
                f"tf.raw_ops.{name}",
                f"tf.raw_ops.{name}(images=x, size={{size}}, "
                "align_corners={align}, half_pixel_centers={half})",
                pictures,
                {"size": ((3, 4), (9, 8), (1, 1), (6, 1)), "align": _SWITCH, "half": _SWITCH},
                ("uint8", "float16"),
            )
            for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
        ),
        Family(
            "tf.image.crop_and_resize",
            "tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9], "
            "[{low}, 0, {high}, 1]], [0, 1], {size}, {method}, {outside})",
            pictures[:1],
            {
                "low": (0, -0.5, 1),
                "high": (1, 1.6, 0),
                "size": ((3, 3), (1, 1)),
                "method": ("bilinear", "nearest"),
                "outside": (0, 7.0),
            },
        ),
        *(
            Family(
                f"tf.image.{n}",
                f"tf.image.{n}(x)",
                ((floats(2, 6, 5, 3, values="unit"),),),
                {},
                ("float16", "uint8"),
            )
            for n in "rgb_to_hsv hsv_to_rgb rgb_to_grayscale rgb_to_yiq rgb_to_yuv flip_left_right "
            "flip_up_down transpose rot90 sobel_edges image_gradients per_image_standardization "
            "total_variation".split()
        ),
        *(
            Family(
                f"tf.image.{n}",
                f"tf.image.{n}(x, {{v}})",
                ((floats(2, 6, 5, 3, values="unit"),),),
                {"v": v},
                ("float16",),
            )
            for n, v in (
                ("adjust_hue", (0.2, -0.5)),
                ("adjust_saturation", (0.2, 3.0)),
                ("adjust_contrast", (0.2, 3.0)),
                ("adjust_gamma", (0.5, 2.0)),
                ("central_crop", (0.5, 0.9)),
            )
        ),
        Family(
            "tf.image.extract_patches",
            "tf.image.extract_patches(x, [1, {k}, {k}, 1], "
            "[1, {s}, {s}, 1], [1, {r}, {r}, 1], {padding})",
            pictures[:1],
            {"k": (2, 3), "s": (1, 2), "r": (1, 2), "padding": _PADDINGS},
            ("int32", "bool"),
        ),
        Family(
            "tf.nn.local_response_normalization",
            "tf.nn.local_response_normalization(x, {r}, {b}, {a}, {p})",
            pictures[:2],
            {"r": (1, 5), "b": (1.0, 0.3), "a": (1.0, 0.5), "p": (0.5, 2)},
            ("float16",),
        ),
        Family(
            "tf.nn.batch_normalization",
            "tf.nn.batch_normalization(x, y, z, v, w, {eps})",
            ((picture, floats(3), floats(3, values="positive"), floats(3), floats(3)),),
            {"eps": (1e-3, 0.0)},
            ("float16",),
        ),
        Family(
            "fused_batch_norm",
            "tf.raw_ops.FusedBatchNormV3(x=x, scale=y, offset=z, mean=v, "
            "variance=w, epsilon={eps}, is_training={t}, exponential_avg_factor={f})[:3]",
            (
                (picture, floats(3), floats(3), floats(3), floats(3, values="positive")),
                (floats(0, 2, 2, 3), floats(3), floats(3), floats(3), floats(3, values="positive")),
            ),
            {"eps": (1e-3, 0.1), "t": _SWITCH, "f": (1.0, 0.5)},
        ),
        *(
            Family(
                f"tf.nn.{n}",
                f"tf.nn.{n}(x, {{b}})",
                (
                    (floats(2, 8, 3, 4) if n.startswith("d") else floats(2, 4, 6, 3),),
                    (floats(2, 2, 2, 4),),
                ),
                {"b": (2,)},
                (*_FEW, "float16"),
            )
            for n in ("space_to_depth",)
        ),
        Family(
            "tf.nn.depth_to_space",
            "tf.nn.depth_to_space(x, {b})",
            ((floats(2, 3, 2, 8),),),
            {"b": (2,)},
            (*_FEW, "float16"),
        ),
        Family(
            "tf.space_to_batch",
            "tf.space_to_batch(x, {b}, {p})",
            ((floats(2, 4, 6, 3),),),
            {"b": ([2, 2], [2, 1]), "p": ([[0, 0], [0, 0]], [[1, 1], [0, 2]])},
            _FEW,
        ),
        Family(
            "tf.batch_to_space",
            "tf.batch_to_space(x, {b}, {c})",
            ((floats(4, 2, 3, 3),),),
            {"b": ([2, 2], [1, 4], [2, 1]), "c": ([[0, 0], [0, 0]], [[1, 0], [0, 1]])},
            _FEW,
        ),
    ]


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
