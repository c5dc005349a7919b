"""ONNX operators of windows, resizing, normalisation and transforms, with edge settings."""

from __future__ import annotations

import numpy as np

from asterism.versions.one_operator import Operator, Options, ints

_PLANE, _SWITCH = (2, 3, 9, 8), (0, 1)
_SAME = ("SAME_UPPER", "SAME_LOWER")
_SCALES = (None, np.array([1, 1, 0.6, 1.7], np.float32))
_RESIZE: Options = {
    "coordinate_transformation_mode": (
        *(
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "half_pixel_symmetric",
        ),
    )
}

#: All that is tried of them.
WINDOWS = (
    *(
        Operator(
            name,
            (_PLANE,),
            {
                "kernel_shape": ([2, 3], [9, 8], [1, 1]),
                "strides": ([1, 1], [3, 2], [4, 5]),
                "pads": (None, [0, 1, 1, 0]),
                "ceil_mode": _SWITCH,
                **more,
            },
            opset=19,
        )
        for name, more in (("MaxPool", {}), ("AveragePool", {"count_include_pad": _SWITCH}))
    ),
    *(
        Operator(
            name,
            ((2, 3, 11),),
            {
                "kernel_shape": ([4],),
                "auto_pad": (*_SAME, "VALID"),
                **more,
                "ceil_mode": _SWITCH,
            },
            opset=19,
        )
        for name in ("MaxPool", "AveragePool")
        for more in ({"strides": ([1], [2], [3], [5])}, {"strides": ([1],), "dilations": ([2],)})
    ),
    Operator(
        "MaxPool",
        ((2, 3, 7),),
        {
            "kernel_shape": ([3],),
            "strides": ([2],),
            "storage_order": _SWITCH,
            "pads": (None, [1, 1]),
        },
        outputs=2,
    ),
    Operator(
        "MaxPool",
        ((1, 2, 5, 6),),
        {
            "kernel_shape": ([2, 2],),
            "strides": ([2, 2],),
            "storage_order": _SWITCH,
            "ceil_mode": _SWITCH,
        },
        outputs=2,
    ),
    Operator(
        "LpPool", (_PLANE,), {"kernel_shape": ([3, 2],), "p": (1, 2, 3), "strides": (None, [2, 3])}
    ),
    Operator("GlobalLpPool", (_PLANE,), {"p": (None, 1, 2, 3)}),
    Operator("GlobalAveragePool", ((2, 3, 4, 5, 2),)),
    Operator(
        "Conv",
        ((2, 4, 9, 7),),
        {
            "kernel_shape": ([3, 2],),
            "auto_pad": ("NOTSET", *_SAME, "VALID"),
            "strides": ([1, 1], [2, 3], [4, 4]),
            "dilations": ([1, 1], [2, 3]),
            "group": (2,),
        },
        ((6, 2, 3, 2), (6,)),
    ),
    Operator(
        "Conv",
        ((2, 3, 6, 5),),
        {"pads": ([2, 0, 1, 3], [0, 1, 0, 0]), "strides": ([1, 1], [3, 1]), "group": (1,)},
        ((4, 3, 2, 3),),
    ),
    Operator(
        "Conv",
        ((2, 2, 4, 5, 3),),
        {"auto_pad": _SAME, "strides": ([1, 1, 1], [2, 1, 2])},
        ((3, 2, 2, 3, 2),),
    ),
    *(
        Operator(
            "ConvTranspose",
            ((2, 4, 5, 4),),
            {"strides": ([1, 1], [2, 3]), "dilations": ([1, 1], [2, 2]), "group": (1,), **more},
            ((4, 3, 3, 2), (3,)),
        )
        for more in (
            {"pads": (None, [1, 0, 1, 1], [0, 1, 1, 0])},
            {"auto_pad": (*_SAME, "VALID")},
        )
    ),
    Operator(
        "ConvTranspose",
        ((2, 4, 5, 4),),
        {"strides": ([2, 3],), "output_padding": (None, [1, 0], [1, 2]), "group": (2,)},
        ((4, 3, 3, 3),),
    ),
    Operator(
        "ConvTranspose",
        ((2, 4, 5, 4),),
        {
            "strides": ([2, 2],),
            "output_shape": ([10, 8], [11, 9], [9, 8]),
            "auto_pad": (None, *_SAME),
        },
        ((4, 3, 3, 3),),
    ),
    *(
        Operator(
            "Resize",
            (_PLANE,),
            {
                "mode": ("nearest",),
                **_RESIZE,
                "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            },
            constants,
            opset=19,
        )
        for constants in (_SCALES, (None, None, ints(2, 3, 4, 13)))
    ),
    Operator("Resize", (_PLANE,), {"mode": ("linear", "cubic"), **_RESIZE}, _SCALES, opset=19),
    Operator(
        "Resize",
        (_PLANE,),
        {
            "mode": ("cubic",),
            "cubic_coeff_a": (-0.5, -0.75),
            "exclude_outside": _SWITCH,
            "coordinate_transformation_mode": ("half_pixel", "align_corners"),
        },
        (None, None, ints(2, 3, 5, 13)),
    ),
    Operator(
        "Resize",
        (_PLANE,),
        {
            "mode": ("linear", "nearest"),
            "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
            "axes": ([2, 3], [3, 2]),
        },
        (None, None, ints(5, 13)),
    ),
    Operator(
        "Resize",
        (_PLANE,),
        {
            "mode": ("linear", "nearest"),
            "coordinate_transformation_mode": ("tf_crop_and_resize",),
            "extrapolation_value": (None, 7.0),
        },
        (np.array([0, 0, 0.2, -0.3, 1, 1, 0.8, 1.2], np.float32), None, ints(2, 3, 5, 6)),
    ),
    *(
        Operator(
            "GridSample",
            ((2, 3, 5, 6),),
            {
                "mode": modes,
                "padding_mode": ("zeros", "border", "reflection"),
                "align_corners": _SWITCH,
            },
            (np.linspace(-1.4, 1.4, 48, dtype=np.float32).reshape(2, 4, 3, 2),),
            opset=opset,
        )
        for modes, opset in (
            (("bilinear", "nearest", "bicubic"), 16),
            (("linear", "nearest", "cubic"), 20),
        )
    ),
    Operator("AffineGrid", ((2, 2, 3),), {"align_corners": _SWITCH}, (ints(2, 3, 4, 5),), opset=20),
    Operator(
        "RoiAlign",
        ((1, 2, 6, 6),),
        {
            "mode": ("avg",),
            "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
            "output_height": (2,),
            "output_width": (3,),
            "sampling_ratio": (0, 2),
            "spatial_scale": (1.0, 0.5),
        },
        (np.array([[0, 0, 4, 5], [1, 2, 3, 3]], np.float32), ints(0, 0)),
    ),
    Operator(
        "Col2Im", ((1, 12, 12),), {"dilations": (None,), "pads": (None,)}, (ints(4, 5), ints(2, 2))
    ),
    Operator("Col2Im", ((1, 12, 4),), {"strides": ([2, 2],)}, (ints(4, 4), ints(2, 2))),
    Operator(
        "LRN",
        (_PLANE,),
        {"size": (1, 2, 3, 5), "alpha": (None, 0.5), "beta": (None, 0.2), "bias": (None, 2.0)},
    ),
    Operator("LpNormalization", (_PLANE,), {"p": (1, 2), "axis": (1, 2)}),
    Operator(
        "LayerNormalization",
        (_PLANE,),
        {"axis": (1,), "epsilon": (None, 0.1)},
        ((3, 9, 8), (3, 9, 8)),
    ),
    Operator("LayerNormalization", (_PLANE,), {"axis": (-1, 3)}, ((8,),)),
    Operator(
        "RMSNormalization",
        ((2, 3, 4),),
        {"axis": (-1, 2), "epsilon": (None, 0.1)},
        ((4,),),
        opset=23,
    ),
    Operator(
        "BatchNormalization", ((2, 3, 4, 5),), {"epsilon": (None, 0.1)}, ((3,), (3,), (3,), (3,))
    ),
    *(
        Operator("Dropout", ((2, 5),), {}, constants)
        for constants in ((), (np.array(0.4, np.float32),))
    ),
    *(
        Operator("QuantizeLinear", ((2, 3),), {"axis": axes}, constants)
        for axes, constants in (
            ((None,), (np.array(0.05, np.float32), np.array(7, np.uint8))),
            ((None,), (np.array(0.05, np.float32), np.array(-7, np.int8))),
            ((1, -1), (np.array([0.05, 0.1, 0.5], np.float32), np.array([7, 0, 255], np.uint8))),
            ((0,), (np.array([0.05, 0.1], np.float32), np.array([-7, 0], np.int8))),
        )
    ),
    Operator("DynamicQuantizeLinear", ((2, 3),), outputs=3),
    Operator("DFT", ((1, 6, 1),), {"onesided": _SWITCH}, (None, np.array(1, np.int64)), opset=20),
    Operator("DFT", ((1, 6, 2),), {"inverse": _SWITCH, "axis": (1,)}, opset=17),
    Operator(
        "DFT", ((1, 6, 1),), {"onesided": _SWITCH, "axis": (1,)}, (np.array(4, np.int64),), opset=17
    ),
    *(
        Operator(
            "STFT",
            ((1, 16, 1),),
            {"onesided": _SWITCH},
            (np.array(3, np.int64), window, np.array(6, np.int64)),
        )
        for window in (None, np.ones(6, np.float32))
    ),
    *(
        Operator(
            name,
            ((4, 2, 5),),
            {
                "direction": ("forward", "reverse"),
                "hidden_size": (3,),
                "activations": (None, list(names)),
            },
            ((1, gates * 3, 5), (1, gates * 3, 3)),
            outputs=2,
        )
        for name, gates, names in (
            ("RNN", 1, ("Relu",)),
            ("GRU", 3, ("Sigmoid", "Relu")),
            ("LSTM", 4, ("Sigmoid", "Relu", "Softsign")),
        )
    ),
    Operator("SpaceToDepth", ((1, 3, 4, 6),), {"blocksize": (1, 2)}),
    Operator("DepthToSpace", ((1, 12, 2, 3),), {"blocksize": (1, 2), "mode": ("DCR", "CRD")}),
    Operator("GlobalMaxPool", ((2, 3, 1, 1),)),
    Operator(
        "Upsample",
        (_PLANE,),
        {"mode": ("nearest", "linear")},
        (np.array([1, 1, 2, 1.5], np.float32),),
        opset=9,
    ),
    Operator(
        "NegativeLogLikelihoodLoss",
        ((3, 5),),
        {"reduction": ("mean", "sum", "none"), "ignore_index": (None, 1)},
        (ints(1, 0, 4),),
    ),
    Operator(
        "NegativeLogLikelihoodLoss",
        ((3, 5),),
        {"reduction": ("mean", "sum", "none")},
        (ints(1, 0, 4), (5,)),
    ),
    Operator(
        "SoftmaxCrossEntropyLoss",
        ((3, 5),),
        {"reduction": ("mean", "sum", "none"), "ignore_index": (None, 1)},
        (ints(1, 0, 4),),
    ),
    Operator("Swish", ((2, 4),), {"alpha": (None, 0.5)}, opset=24),
    Operator(
        "Attention",
        ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
        {"is_causal": _SWITCH, "scale": (None, 0.3), "softcap": (None, 2.0)},
        opset=23,
    ),
    Operator(
        "Attention",
        ((1, 3, 8), (1, 5, 4), (1, 5, 4)),
        {"is_causal": _SWITCH, "q_num_heads": (4,), "kv_num_heads": (2,)},
        opset=23,
    ),
)
