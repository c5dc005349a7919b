"""Functions of TensorFlow's layers: convolutions, pooling, resizing, normalisation."""

from __future__ import annotations

from asterism.findings.calls.call import Family
from asterism.findings.calls.table import TABLES, floats

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
            for n in [
                "rgb_to_hsv",
                "hsv_to_rgb",
                "rgb_to_grayscale",
                "rgb_to_yiq",
                "rgb_to_yuv",
                "flip_left_right",
                "flip_up_down",
                "transpose",
                "rot90",
                "sobel_edges",
                "image_gradients",
                "per_image_standardization",
                "total_variation",
            ]
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
