"""Functions of PyTorch's layers: normalisation, losses, recurrent ones, attention."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_DTYPES = ("float64", "bfloat16", "float16")
_SWITCH = (False, True)


@TABLES.register("torch:layers")
def layers() -> list[Family]:
    """All that have no windows."""
    return [*_others(), *_modules()]


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
                f"torch.manual_seed(0)\nlayer = torch.nn.{kind}(4, 3, "
                "bidirectional={bidirectional}, num_layers={num_layers}, "
                "batch_first={batch_first}, bias={bias}).requires_grad_(False)",
            )
        )
    found.append(
        Family(
            "nn.MultiheadAttention",
            "layer(x, x, x, need_weights={weights})",
            ((floats(3, 2, 4),), (floats(3, 4),)),
            {"batch_first": _SWITCH, "zero": _SWITCH, "bias_kv": _SWITCH, "weights": _SWITCH},
            (),
            "torch.manual_seed(0)\nlayer = torch.nn.MultiheadAttention(4, 2, "
            "batch_first={batch_first}, add_zero_attn={zero}, "
            "add_bias_kv={bias_kv}).requires_grad_(False).eval()",
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
