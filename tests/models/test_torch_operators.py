"""Which operators exported PyTorch programs may call: all that compute, and none that do more."""

import json
import time

import numpy as np
import pytest
import torch
from strange_programs import entries, write
from torch.nn import functional as f

from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_archive import rewrite_program
from asterism.models.foreign.torch_operators import only_computes
from thinning import every

X, SQUARE = torch.randn(4, 6), torch.eye(4) * 2 + 0.1
PLANES, IDS = torch.randn(2, 3, 8, 8), torch.tensor([[0, 2, 1], [3, 3, 0]])

#: Functions that models use, by name, each with an input; some are no core operators of PyTorch.
FUNCTIONS = {
    "slices": (lambda x: x[1:][:, -2:], X),  # one up to the end states the largest integer
    "copysign": (lambda x: torch.copysign(x, -x), X),
    "tril": (torch.tril, X),
    "triu": (lambda x: torch.triu(x, 1), X),
    "one_hot": (lambda x: f.one_hot(x, 5), IDS),
    "stft": (lambda x: torch.stft(x, 4, 2, window=torch.hann_window(4),
                                  return_complex=True).abs(), X),
    "median": (lambda x: torch.median(x, 1)[0], X),
    "nanmedian": (lambda x: torch.nanmedian(x, 0)[0], X),
    "quantile": (lambda x: torch.quantile(x, 0.3, 1), X),
    "cummax": (lambda x: torch.cummax(x, 1)[0], X),
    "cumprod": (lambda x: torch.cumprod(x, 1), X),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), X),
    "searchsorted": (lambda x: torch.searchsorted(torch.arange(4.0), x), X),
    "bucketize": (lambda x: torch.bucketize(x, torch.arange(4.0)), X),
    "lerp": (lambda x: torch.lerp(x, x + 1, 0.3), X),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=0.5), X),
    "hypot": (lambda x: torch.hypot(x, x + 1), X),
    "diag": (torch.diag, SQUARE),
    "diag_embed": (torch.diag_embed, X),
    "trace": (torch.trace, SQUARE),
    "inverse": (torch.linalg.inv, SQUARE),
    "solve": (lambda x: torch.linalg.solve(x, x[:, :2]), SQUARE),
    "cholesky": (torch.linalg.cholesky, SQUARE),
    "svd": (torch.linalg.svdvals, X),
    "determinant": (torch.linalg.det, SQUARE),
    "matrix_power": (lambda x: torch.linalg.matrix_power(x, 3), SQUARE),
    "cross": (lambda x: torch.linalg.cross(x[:, :3], x[:, 3:]), X),
    "fft": (lambda x: torch.fft.rfft(x).abs(), X),
    "istft": (lambda x: torch.istft(torch.complex(x[:3], x[:3]), 4, 2,
                                    window=torch.ones(4)), X),
    "take": (lambda x: torch.take(x, torch.tensor([0, 5])), X),
    "take_along_dim": (lambda x: torch.take_along_dim(x, x.argsort(1), 1), X),
    "index_add": (lambda x: x.index_add(0, torch.tensor([0, 1]), x[:2]), X),
    "index_copy": (lambda x: x.index_copy(0, torch.tensor([3, 1]), x[:2]), X),
    "masked_select": (lambda x: x.masked_select(x > 0).sum(), X),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), X),
    "meshgrid": (lambda x: torch.meshgrid(x[0], x[:, 0], indexing="ij"), X),
    "tensor_split": (lambda x: torch.tensor_split(x, 3, 1), X),
    "rot90": (torch.rot90, X),
    "fliplr": (torch.fliplr, X),
    "nan_to_num": (lambda x: torch.nan_to_num(x.log()), X),
    "erfinv": (lambda x: torch.erfinv(x / 9), X),
    "lgamma": (torch.lgamma, X),
    "digamma": (torch.digamma, X),
    "xlogy": (lambda x: torch.xlogy(x.abs(), x.abs()), X),
    "sinc": (torch.sinc, X),
    "heaviside": (lambda x: torch.heaviside(x, x), X),
    "gcd": (lambda x: torch.gcd(x, x + 2), IDS),
    "bitwise": (lambda x: (x << 1) ^ (x & 3) | ~x, IDS),
    "isin": (lambda x: torch.isin(x, torch.tensor([1, 3])), IDS),
    "bincount": (lambda x: torch.bincount(x.reshape(-1), minlength=6), IDS),
    "unique": (lambda x: torch.unique(x.reshape(-1)).sum(), IDS),
    "count_nonzero": (lambda x: torch.count_nonzero(x, 1), IDS),
    "kthvalue": (lambda x: torch.kthvalue(x, 2, 1)[0], X),
    "mode": (lambda x: torch.mode(x, 1)[0], IDS),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), X),
    "cdist": (lambda x: torch.cdist(x, x + 1), X),
    "cosine": (lambda x: f.cosine_similarity(x, x + 1), X),
    "pairwise": (lambda x: f.pairwise_distance(x, x + 1), X),
    "kl_div": (lambda x: f.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"), X),
    "cross_entropy": (lambda x: f.cross_entropy(x, torch.tensor([1, 2, 0, 5])), X),
    "huber": (lambda x: f.huber_loss(x, x + 2), X),
    "softshrink": (f.softshrink, X),
    "hardshrink": (f.hardshrink, X),
    "logit": (lambda x: torch.logit(x.sigmoid()), X),
    "threshold": (lambda x: f.threshold(x, 0.1, 2.0), X),
    "embedding_bag": (lambda x: f.embedding_bag(x, torch.arange(8.0).reshape(4, 2)), IDS),
    "unpool": (lambda x: f.max_unpool2d(*f.max_pool2d(x, 2, return_indices=True), 2), PLANES),
    "fold": (lambda x: f.fold(f.unfold(x, 2), (8, 8), 2), PLANES),
    "conv3d": (lambda x: f.conv3d(x[None], torch.ones(1, 2, 2, 2, 2)), PLANES),
    "conv_transpose1d": (lambda x: f.conv_transpose1d(x[:, :, 0], torch.ones(3, 2, 2)), PLANES),
    "grid_sample": (lambda x: f.grid_sample(x, f.affine_grid(torch.eye(2, 3)[None].repeat(
        2, 1, 1), [2, 3, 4, 4], False), align_corners=False), PLANES),
    "linear": (lambda x: f.interpolate(x, scale_factor=1.5, mode="bilinear"), PLANES),
    "antialias": (lambda x: f.interpolate(x, (5, 5), mode="bilinear", antialias=True), PLANES),
    "circular": (lambda x: f.pad(x, (1, 1, 1, 1), mode="circular"), PLANES),
    "lp_pool": (lambda x: f.lp_pool2d(x, 2, 2), PLANES),
    "local_response_norm": (lambda x: f.local_response_norm(x, 3), PLANES),
    "weight_norm": (lambda x: torch._weight_norm(x, x[:, :1], 0), X),
    "attention": (lambda x: f.scaled_dot_product_attention(x, x, x, is_causal=True), PLANES),
    "windows": (lambda x: x[:, :5] * torch.hamming_window(5) * torch.blackman_window(5), X),
    "vander": (lambda x: torch.linalg.vander(x[0], N=4), X),
    "trapezoid": (torch.trapezoid, X),
    "frexp": (lambda x: torch.frexp(x)[0], X),
    "complex": (lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(4, 3, 2)) * 2j), X),
    "fake_quantize": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), X),
}  # fmt: skip


class _Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", every(3, list(FUNCTIONS)))
def test_what_models_compute_is_opened_and_gives_the_same(name, tmp_path):
    function, given = FUNCTIONS[name]
    program = torch.export.export(_Calls(function), (given,))
    torch.export.save(program, tmp_path / "m.pt2")
    ours = rewrite_program(tmp_path / "m.pt2").module()(given)
    theirs = torch.utils._pytree.tree_leaves(function(given))
    for one, other in zip(torch.utils._pytree.tree_leaves(ours), theirs, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def _registered():
    names = torch._C._dispatch_get_all_op_names()
    for name in sorted(n for n in names if n.partition("::")[0] in ("aten", "prims", "quantized")):
        space, _, rest = name.partition("::")
        yield f"torch.ops.{space}.{rest if '.' in rest else f'{rest}.default'}"


TAKEN = [target for target in _registered() if only_computes(target)]


def test_most_operators_of_pytorch_are_taken_and_no_others():
    assert len(TAKEN) > 1200
    assert not [target for target in TAKEN if ".quantized." in target]
    for target in ("torch.ops.aten.Int.Tensor", "torch.ops.aten.append.t", "torch.ops.x.y.default"):
        assert not only_computes(target)  # of TorchScript alone


@pytest.mark.parametrize(
    "name",
    [
        *("from_file", "save", "_print", "manual_seed", "set_", "set_data", "resize", "seed"),
        *("record_stream", "backward", "_backward", "pin_memory", "_copy_from", "requires_grad_"),
        *("_sparse_coo_tensor_unsafe", "_reshape_alias", "_cufft_clear_plan_cache"),
        *("special_hermite_polynomial_h", "linalg_lu_solve", "_nested_view_from_buffer"),
    ],
)
def test_what_does_more_than_compute_is_not_taken(name):
    assert not [target for target in TAKEN if target.split(".")[3] == name]


def test_what_is_taken_takes_and_gives_plain_values():
    """Nothing that holds an object: a storage, a stream, a class of TorchScript, a dictionary."""
    plain = {"Tensor", "int", "float", "bool", "number", "str", "Device", "Generator"}
    for target in TAKEN:
        space, name, overload = target.removeprefix("torch.ops.").split(".")
        schema = getattr(getattr(getattr(torch.ops, space), name), overload)._schema
        for value in (*schema.arguments, *schema.returns):
            kind = str(value.type)
            for outer in ("Optional[", "List["):
                kind = kind.replace(outer, "")
            assert kind.strip("]") in plain, (target, kind)


HUGE = 10**12
#: Calls that would fill the memory: an operator with its arguments.
BOMBS = {
    "full": ("aten.full.default", {"size": {"as_ints": [HUGE]}, "fill_value": {"as_int": 1}}),
    "of two axes": ("aten.zeros.default", {"size": {"as_ints": [10**6, 10**6]}}),
    "repeat": ("aten.repeat.default", {"self": None, "repeats": {"as_ints": [10**6, 10**6]}}),
    "repeat one": ("aten.repeat_interleave.self_int",
                   {"self": None, "repeats": {"as_int": HUGE}}),
    "expand": ("aten.expand.default", {"self": None, "size": {"as_ints": [HUGE, 4, 6]}}),
    "arange": ("aten.arange.default", {"end": {"as_int": HUGE}}),
    "a fine range": ("aten.arange.start_step", {"start": {"as_float": 0.0},
                                                "end": {"as_float": 1.0},
                                                "step": {"as_float": 1e-12}}),
    "one_hot": ("aten.one_hot.default", {"self": None, "num_classes": {"as_int": HUGE}}),
    "linspace": ("aten.linspace.default", {"start": {"as_int": 0}, "end": {"as_int": 1},
                                           "steps": {"as_int": HUGE}}),
    "eye": ("aten.eye.default", {"n": {"as_int": HUGE}}),
    "window": ("aten.hann_window.default", {"window_length": {"as_int": HUGE}}),
    "pad": ("aten.constant_pad_nd.default", {"self": None, "pad": {"as_ints": [0, HUGE]}}),
    "histogram": ("aten.histc.default", {"self": None, "bins": {"as_int": HUGE}}),
    "transform": ("aten.fft_rfft.default", {"self": None, "n": {"as_int": HUGE}}),
    "upsample": ("aten.upsample_nearest2d.default",
                 {"self": None, "output_size": {"as_ints": [10**6, 10**6]}}),
    "symbolic": ("aten.new_zeros.default",
                 {"self": None, "size": {"as_sym_ints": [{"as_int": HUGE}]}}),
    "vander": ("aten.linalg_vander.default", {"x": None, "N": {"as_int": HUGE}}),
    "triangle": ("aten.tril_indices.default", {"row": {"as_int": HUGE}, "col": {"as_int": 9}}),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A file of a program that adds."""
    path = tmp_path_factory.mktemp("programs") / "plain.pt2"
    torch.export.save(torch.export.export(_Calls(lambda x: x + 1), (X,)), path)
    return path


@pytest.mark.parametrize("name", BOMBS)
def test_numbers_that_would_fill_the_memory_are_rejected(name, plain, tmp_path):
    target, arguments = BOMBS[name]
    contents = entries(plain)
    document = json.loads(contents["plain/models/model.json"])
    graph = document["graph_module"]["graph"]
    given = graph["nodes"][0]["inputs"][0]["arg"]
    graph["nodes"][0] |= {
        "target": f"torch.ops.{target}",
        "inputs": [
            {"name": n, "arg": given if a is None else a, "kind": 1} for n, a in arguments.items()
        ],
    }
    contents["plain/models/model.json"] = json.dumps(document).encode()
    began = time.process_time()
    with pytest.raises(UserError, match=r"tensor of .* MB"):
        rewrite_program(write(tmp_path / "odd.pt2", contents))
    assert time.process_time() - began < 5
