"""Functions of PyTorch's layers with windows: convolutions, pooling, padding, resizing."""

from __future__ import annotations

from asterism.findings.calls.call import Family
from asterism.findings.calls.table import TABLES, floats

_DTYPES = ("float64", "bfloat16", "float16")
_SWITCH = (False, True)


@TABLES.register("torch:windows")
def windows() -> list[Family]:
    """Convolutions, pooling, padding and resizing."""
    return [*_convolutions(), *_pooling(), *_resizing()]


def _convolutions() -> list[Family]:
    found = []
    for rank in (1, 2, 3):
        size = (7, 6, 5)[:rank]
        usual = (floats(2, 4, *size), floats(6, 4, *(3,) * rank))
        single = (floats(4, *size), floats(6, 4, *(3,) * rank))
        nothing = (floats(0, 4, *size), floats(6, 4, *(3,) * rank))
        wide = (floats(1, 4, *(1,) * rank), floats(6, 4, *(1,) * rank))
        found.append(
            Family(
                f"F.conv{rank}d",
                f"F.conv{rank}d(x, y, stride={{stride}}, padding={{padding}}, "
                "dilation={dilation})",
                (usual, single, nothing, wide),
                {"stride": (1, 2, 4), "padding": (0, 1, 2, "same", "valid"), "dilation": (1, 2)},
                _DTYPES,
            )
        )
        found.append(
            Family(
                f"F.conv{rank}d groups",
                f"F.conv{rank}d(x, y, padding={{padding}}, groups={{groups}})",
                ((floats(2, 4, *size), floats(4, 1, *(3,) * rank)),),
                {"padding": (0, 1), "groups": (4,)},
                _DTYPES,
            )
        )
        transposed = (floats(2, 4, *size), floats(4, 6, *(3,) * rank))
        found.append(
            Family(
                f"F.conv_transpose{rank}d",
                f"F.conv_transpose{rank}d(x, y, stride={{stride}}, padding={{padding}}, "
                "output_padding={output_padding}, dilation={dilation})",
                (
                    transposed,
                    (floats(4, *size), transposed[1]),
                    (floats(0, 4, *size), transposed[1]),
                ),
                {
                    "stride": (1, 2, 3),
                    "padding": (0, 1),
                    "output_padding": (0, 1),
                    "dilation": (1, 2),
                },
                _DTYPES,
            )
        )
    return found


def _pooling() -> list[Family]:
    found = []
    for rank in (1, 2, 3):
        size = (7, 6, 5)[:rank]
        inputs = (
            (floats(2, 3, *size),),
            (floats(3, *size),),
            (floats(2, 3, *(3,) * rank),),
            (floats(0, 3, *size),),
        )
        found.append(
            Family(
                f"F.max_pool{rank}d",
                f"F.max_pool{rank}d(x, {{kernel}}, stride={{stride}}, padding={{padding}}, "
                "dilation={dilation}, ceil_mode={ceil_mode}, return_indices={return_indices})",
                inputs,
                {
                    "kernel": (2, 3, 1),
                    "stride": (None, 1, 3, 5),
                    "padding": (0, 1),
                    "dilation": (1, 2),
                    "ceil_mode": _SWITCH,
                    "return_indices": _SWITCH,
                },
                (*_DTYPES, "int64", "uint8"),
            )
        )
        divisor = ", divisor_override={divisor}" if rank > 1 else ""
        found.append(
            Family(
                f"F.avg_pool{rank}d",
                f"F.avg_pool{rank}d(x, {{kernel}}, stride={{stride}}, padding={{padding}}, "
                f"ceil_mode={{ceil_mode}}, count_include_pad={{count_include_pad}}{divisor})",
                inputs,
                {
                    "kernel": (2, 3),
                    "stride": (None, 1, 3, 5),
                    "padding": (0, 1),
                    "ceil_mode": _SWITCH,
                    "count_include_pad": (True, False),
                    **({"divisor": (None, 3, -2)} if divisor else {}),
                },
                _DTYPES,
            )
        )
        for kind in ("avg", "max"):
            found.append(
                Family(
                    f"F.adaptive_{kind}_pool{rank}d",
                    f"F.adaptive_{kind}_pool{rank}d(x, {{size}})",
                    inputs,
                    {"size": (1, 2, 3, 9, 0)},
                    _DTYPES,
                )
            )
        if rank < 3:
            found.append(
                Family(
                    f"F.lp_pool{rank}d",
                    f"F.lp_pool{rank}d(x, {{norm}}, {{kernel}}, {{stride}}, {{ceil_mode}})",
                    inputs,
                    {
                        "norm": (2, 1, 3, 0.5),
                        "kernel": (2, 3),
                        "stride": (None, 1, 3),
                        "ceil_mode": _SWITCH,
                    },
                    _DTYPES,
                )
            )
        found.append(
            Family(
                f"F.max_unpool{rank}d",
                f"F.max_unpool{rank}d(*F.max_pool{rank}d(x, {{kernel}}, {{stride}}, "
                "return_indices=True), {kernel}, {stride})",
                inputs[:2],
                {"kernel": (2, 3), "stride": (None, 1)},
                _DTYPES,
            )
        )
    return found


def _resizing() -> list[Family]:
    found = []
    modes = {
        1: ("nearest", "nearest-exact", "linear", "area"),
        2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
        3: ("nearest", "nearest-exact", "trilinear", "area"),
    }
    for rank, names in modes.items():
        inputs = (
            (floats(2, 3, *(7, 6, 5)[:rank]),),
            (floats(1, 2, *(1,) * rank),),
            (floats(0, 3, *(7, 6, 5)[:rank]),),
        )
        for mode in names:
            more = ", align_corners={align_corners}" if "linear" in mode or "cubic" in mode else ""
            options = {"align_corners": (None, True)} if more else {}
            found.append(
                Family(
                    f"F.interpolate {mode}",
                    f"F.interpolate(x, size={{size}}, mode={mode!r}{more})",
                    inputs,
                    {"size": (9, 3, 1), **options},
                    (*_DTYPES, "uint8"),
                )
            )
            found.append(
                Family(
                    f"F.interpolate {mode}",
                    f"F.interpolate(x, scale_factor={{scale}}, mode={mode!r}{more}, "
                    "recompute_scale_factor={recompute})",
                    inputs,
                    {"scale": (2.0, 0.5, 1.3, 0.3), "recompute": (None, True), **options},
                )
            )
            if mode in ("bilinear", "bicubic"):
                found.append(
                    Family(
                        f"F.interpolate {mode} antialias",
                        f"F.interpolate(x, size={{size}}, mode={mode!r}{more}, antialias=True)",
                        inputs,
                        {"size": (9, 3, 1), **options},
                        (*_DTYPES, "uint8"),
                    )
                )
    for mode in ("constant", "reflect", "replicate", "circular"):
        for rank, pads in (
            (1, ((1, 2), (0, 3), (-1, 2), (-2, -1), (0, 0))),
            (2, ((1, 2, 3, 0), (0, 0, 1, 1), (-1, 2, 1, -2))),
            (3, ((1, 2, 0, 1, 2, 1), (-1, 0, 1, 0, 0, 2))),
        ):
            found.append(
                Family(
                    f"F.pad {mode}",
                    f"F.pad(x, {{pad}}, mode={mode!r})",
                    (
                        (floats(2, 3, *(5, 6, 4)[:rank]),),
                        (floats(3, *(5, 6, 4)[:rank]),),
                        (floats(0, 3, *(5, 6, 4)[:rank]),),
                    ),
                    {"pad": pads},
                    (*_DTYPES, "int64", "bool", "complex64"),
                )
            )
    for mode in ("bilinear", "nearest", "bicubic"):
        found.append(
            Family(
                f"F.grid_sample {mode}",
                f"F.grid_sample(x, y, mode={mode!r}, padding_mode={{padding}}, "
                "align_corners={align})",
                (
                    (floats(2, 3, 5, 6), floats(2, 4, 3, 2)),
                    (floats(1, 1, 1, 1), floats(1, 4, 3, 2)),
                ),
                {"padding": ("zeros", "border", "reflection"), "align": _SWITCH},
                ("float64", "bfloat16"),
            )
        )
    found += [
        Family(
            "F.affine_grid",
            "F.affine_grid(x, {size}, align_corners={align})",
            ((floats(2, 2, 3),),),
            {"size": ((2, 3, 4, 5), (2, 1, 1, 1)), "align": _SWITCH},
        ),
        Family(
            "F.pixel_shuffle",
            "F.pixel_shuffle(x, {factor})",
            ((floats(2, 8, 3, 4),), (floats(8, 3, 4),), (floats(0, 8, 3, 4),)),
            {"factor": (2, 1)},
            ("int64", "bool"),
        ),
        Family(
            "F.pixel_unshuffle",
            "F.pixel_unshuffle(x, {factor})",
            ((floats(2, 3, 4, 6),), (floats(3, 4, 6),)),
            {"factor": (2, 1)},
            ("int64",),
        ),
        Family(
            "F.channel_shuffle",
            "F.channel_shuffle(x, {groups})",
            ((floats(2, 6, 3, 3),),),
            {"groups": (2, 3, 6, 1)},
        ),
        Family(
            "F.unfold",
            "F.unfold(x, {kernel}, dilation={dilation}, padding={padding}, stride={stride})",
            ((floats(2, 3, 6, 5),), (floats(3, 6, 5),)),
            {"kernel": (2, 3), "dilation": (1, 2), "padding": (0, 1), "stride": (1, 2, 4)},
        ),
        Family(
            "F.fold",
            "F.fold(x, {size}, 2, dilation={dilation}, padding={padding}, stride=1)",
            ((floats(2, 12, 12),),),
            {"size": ((4, 5), (5, 4), (3, 4)), "dilation": (1, 2), "padding": (0, 1)},
        ),
    ]
    return found
