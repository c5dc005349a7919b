"""Functions of PyTorch's layers: convolutions, pooling, padding, resizing, normalisation."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_DTYPES = ("float64", "bfloat16", "float16")
_SWITCH = (False, True)


@TABLES.register("torch:layers")
def layers() -> list[Family]:
    """All of them."""
    return [*_convolutions(), *_pooling(), *_resizing(), *_others(), *_modules()]


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
                f"F.conv{rank}d(x, y, stride={{stride}}, padding={{padding}}, dilation={{dilation}})",
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
                f"F.grid_sample(x, y, mode={mode!r}, padding_mode={{padding}}, align_corners={{align}})",
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


def _others() -> list[Family]:
    plane, line = (floats(2, 4, 5, 3),), (floats(2, 4),)
    logits = (floats(4, 5), ints(4, below=5))
    found = [
        Family(
            "F.batch_norm",
            "F.batch_norm(x, y, z, training={training}, momentum={momentum}, eps={eps})",
            ((floats(3, 4, 5), floats(4), floats(4, values="positive")),),
            {"training": _SWITCH, "momentum": (0.1, 0.0, 1.0), "eps": (1e-5, 0.0)},
            _DTYPES,
        ),
        Family(
            "F.instance_norm",
            "F.instance_norm(x, eps={eps})",
            (plane, (floats(2, 4, 6),), (floats(4, 6),)),
            {"eps": (1e-5, 0.1)},
            _DTYPES,
        ),
        Family(
            "F.layer_norm",
            "F.layer_norm(x, {shape}, eps={eps})",
            (plane,),
            {"shape": ((3,), (5, 3), (4, 5, 3)), "eps": (1e-5, 0.0)},
            _DTYPES,
        ),
        Family(
            "F.rms_norm",
            "F.rms_norm(x, {shape}, eps={eps})",
            (plane,),
            {"shape": ((3,), (5, 3)), "eps": (None, 0.1)},
            _DTYPES,
        ),
        Family(
            "F.group_norm",
            "F.group_norm(x, {groups}, eps={eps})",
            (plane, line, (floats(0, 4, 3),)),
            {"groups": (2, 1, 4), "eps": (1e-5, 0.1)},
            _DTYPES,
        ),
        Family(
            "F.local_response_norm",
            "F.local_response_norm(x, {size}, alpha={alpha}, beta={beta}, k={k})",
            (plane, (floats(2, 4, 6),)),
            {"size": (2, 3, 5), "alpha": (1e-4, 1.0), "beta": (0.75, 2.0), "k": (1.0, 0.5)},
        ),
        Family(
            "F.normalize",
            "F.normalize(x, p={p}, dim={dim}, eps={eps})",
            (plane,),
            {"p": (2.0, 1.0, 0.5, float_("inf")), "dim": (1, -1, (1, 2)), "eps": (1e-12, 2.0)},
        ),
        Family(
            "F.scaled_dot_product_attention",
            "F.scaled_dot_product_attention(x, y, z, is_causal={causal}, scale={scale})",
            (
                (floats(2, 2, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 4)),
                (floats(3, 4), floats(5, 4), floats(5, 4)),
                (floats(1, 1, 1, 4), floats(1, 1, 1, 4), floats(1, 1, 1, 6)),
            ),
            {"causal": _SWITCH, "scale": (None, 0.3, 0.0)},
            _DTYPES,
        ),
        Family(
            "F.embedding",
            "F.embedding(x, y, padding_idx={padding}, max_norm={norm})",
            ((ints(2, 3, below=5), floats(5, 4)), (ints(0, below=5), floats(5, 4))),
            {"padding": (None, 0, -1), "norm": (None,)},
        ),
        Family(
            "F.embedding_bag",
            "F.embedding_bag(x, y, mode={mode}, padding_idx={padding})",
            ((ints(2, 3, below=5), floats(5, 4)),),
            {"mode": ("mean", "sum", "max"), "padding": (None, 0, -1)},
        ),
        Family(
            "F.one_hot",
            "F.one_hot(x, {classes})",
            ((ints(2, 3, below=5),), (ints(below=5),)),
            {"classes": (6, 5, -1)},
        ),
        Family("F.glu", "F.glu(x, dim={dim})", ((floats(2, 4, 6),),), {"dim": (-1, 0, 1)}, _DTYPES),
        Family(
            "F.bilinear", "F.bilinear(x, y, z)", ((floats(3, 4), floats(3, 5), floats(2, 4, 5)),)
        ),
        Family(
            "F.cosine_similarity",
            "F.cosine_similarity(x, y, dim={dim}, eps={eps})",
            ((floats(3, 4), floats(3, 4)), (floats(3, 4), floats(4))),
            {"dim": (1, 0, -1), "eps": (1e-8, 2.0)},
            _DTYPES,
        ),
        Family(
            "F.pairwise_distance",
            "F.pairwise_distance(x, y, p={p}, keepdim={keepdim})",
            ((floats(3, 4), floats(3, 4)),),
            {"p": (2.0, 1.0, 0.5, float_("inf"), 0.0), "keepdim": _SWITCH},
        ),
        Family(
            "F.pdist",
            "F.pdist(x, p={p})",
            ((floats(4, 3),), (floats(1, 3),)),
            {"p": (2.0, 1.0, 0.0, float_("inf"))},
        ),
        Family(
            "F.cross_entropy",
            "F.cross_entropy(x, y, reduction={reduction}, "
            "label_smoothing={smoothing}, ignore_index={ignore})",
            (logits, (floats(2, 5, 3), ints(2, 3, below=5)), (floats(5), ints(below=5))),
            {"reduction": ("mean", "sum", "none"), "smoothing": (0.0, 0.3), "ignore": (-100, 1)},
            _DTYPES,
        ),
        Family(
            "F.nll_loss",
            "F.nll_loss(x, y, reduction={reduction}, ignore_index={ignore})",
            (logits, (floats(2, 5, 3), ints(2, 3, below=5))),
            {"reduction": ("mean", "sum", "none"), "ignore": (-100, 1)},
            _DTYPES,
        ),
        Family(
            "F.multi_margin_loss",
            "F.multi_margin_loss(x, y, p={p}, margin={margin}, reduction={reduction})",
            (logits, (floats(5), ints(below=5))),
            {"p": (1, 2), "margin": (1.0, 0.3), "reduction": ("mean", "sum", "none")},
        ),
        Family(
            "F.multilabel_margin_loss",
            "F.multilabel_margin_loss(x, y, reduction={reduction})",
            ((floats(4, 5), ints(4, 5, below=5)), (floats(5), ints(5, below=5))),
            {"reduction": ("mean", "sum", "none")},
        ),
        Family(
            "F.ctc_loss",
            "F.ctc_loss(F.log_softmax(x, 2), y, torch.tensor([6, 6]), "
            "torch.tensor([2, 1]), blank={blank}, reduction={reduction}, zero_infinity={zero})",
            ((floats(6, 2, 4), ints(2, 2, below=3)),),
            {"blank": (3,), "reduction": ("mean", "sum", "none"), "zero": _SWITCH},
        ),
    ]
    reductions = {"reduction": ("mean", "sum", "none")}
    for name, more in (
        ("mse_loss", {}),
        ("l1_loss", {}),
        ("smooth_l1_loss", {"beta": (1.0, 0.3, 0.0)}),
        ("huber_loss", {"delta": (1.0, 0.3)}),
        ("soft_margin_loss", {}),
        ("poisson_nll_loss", {"log_input": (True, False), "full": _SWITCH}),
        ("kl_div", {"log_target": _SWITCH}),
        ("hinge_embedding_loss", {"margin": (1.0, -0.3)}),
        ("binary_cross_entropy_with_logits", {}),
        ("multilabel_soft_margin_loss", {}),
    ):
        words = "".join(f", {option}={{{option}}}" for option in (*reductions, *more))
        found.append(
            Family(
                f"F.{name}",
                f"F.{name}(x, y{words})",
                (
                    (floats(3, 4), floats(3, 4, values="unit")),
                    (floats(0, 4), floats(0, 4)),
                    (floats(4), floats(4, values="unit")),
                ),
                {**reductions, **more},
                _DTYPES,
            )
        )
    return found


def _modules() -> list[Family]:
    found = []
    for kind in ("RNN", "LSTM", "GRU"):
        found.append(
            Family(
                f"nn.{kind}",
                "layer(x)",
                ((floats(3, 2, 4),), (floats(3, 4),), (floats(1, 1, 4),)),
                {
                    "bidirectional": _SWITCH,
                    "num_layers": (1, 2),
                    "batch_first": _SWITCH,
                    "bias": (True, False),
                },
                ("bfloat16",),
                f"torch.manual_seed(0)\nlayer = torch.nn.{kind}(4, 3, bidirectional={{bidirectional}}, "
                "num_layers={num_layers}, batch_first={batch_first}, bias={bias}).requires_grad_(False)",
            )
        )
    found.append(
        Family(
            "nn.MultiheadAttention",
            "layer(x, x, x, need_weights={weights})",
            ((floats(3, 2, 4),), (floats(3, 4),)),
            {"batch_first": _SWITCH, "zero": _SWITCH, "bias_kv": _SWITCH, "weights": _SWITCH},
            (),
            "torch.manual_seed(0)\nlayer = torch.nn.MultiheadAttention(4, 2, batch_first={batch_first}, "
            "add_zero_attn={zero}, add_bias_kv={bias_kv}).requires_grad_(False).eval()",
        )
    )
    found.append(
        Family(
            "nn.TransformerEncoderLayer",
            "layer(x)",
            ((floats(3, 2, 4),), (floats(3, 4),)),
            {"batch_first": _SWITCH, "norm_first": _SWITCH, "activation": ("relu", "gelu")},
            (),
            "torch.manual_seed(0)\nlayer = torch.nn.TransformerEncoderLayer(4, 2, 8, "
            "batch_first={batch_first}, norm_first={norm_first}, activation={activation})"
            ".requires_grad_(False).eval()",
        )
    )
    return found


def float_(text: str) -> Code:
    """A number that Python writes as a call."""
    return Code(f"float({text!r})")
