"""Small programs of PyTorch: a few operators, views, changes in place, and what must fail."""

from __future__ import annotations

from asterism.findings.calls.call import Family
from asterism.findings.calls.table import TABLES, floats, ints


@TABLES.register("torch:programs")
def programs() -> list[Family]:
    """Views and changes in place, ties and orders, numbers of axes, and integer division."""
    given = floats(4, 6), floats(4, 6)
    named = {**_VIEWS, **_ORDERS, **_AXES, **_REDUCTIONS}
    whole = (ints(3, 4, below=9), ints(3, 4, below=2))
    return [
        *(Family(f"program {name}", text, (given,)) for name, text in named.items()),
        *(Family(f"whole {name}", text, (whole,)) for name, text in _WHOLE.items()),
    ]


#: Views, strides, aliases and changes in place.
_VIEWS = {
    "add to transposed view": "x.clone().t().add_(y.t()).contiguous()",
    "fill a diagonal": "x.clone().fill_diagonal_(2, wrap=True) + y",
    "diagonal in place": "[z := x.clone(), z.diagonal().mul_(2), z][-1] + y",
    "overlapping windows": "x.reshape(-1).as_strided((5, 4), (3, 1)).sum(0) + y[0, 0]",
    "as strided scatter": "x.as_strided_scatter(y[:2, :2] * 2, (2, 2), (6, 2), 1)",
    "as strided of view": "x.t()[1:].as_strided((2, 2), (1, 6), 3) * y[:2, :2]",
    "slice in place": "[z := x.clone(), z[::2, 1:].mul_(y[::2, 1:]), z][-1]",
    "swap in place": "[z := x.clone(), z[0].copy_(z[1]), z[1].copy_(x[0]), z][-1]",
    "expand in sum": "x[:, :1].expand(-1, 6).mul(y.t().contiguous().t()).sum(0)",
    "set by index": "[z := x.clone(), z.index_fill_(1, torch.tensor([0, 0, 3]), 2), z][-1] + y",
    "resize": "x.clone().resize_(3, 5) + 1",
    "transposed cat": "torch.cat([x.t(), y.t()[::2]], 0).t()[:, 2:]",
    "unbind and stack": "torch.stack(x.unbind(1)[::-1], 0) @ y",
    "masked in place": "x.clone().masked_fill_(y > 0, 0).t().reshape(-1)",
    "put": "x.clone().put_(torch.tensor([0, 5, 5]), y[0, :3], accumulate=True)",
    "out of another dtype": "torch.add(x, y, out=torch.empty(4, 6, dtype=torch.float64))",
    "out of a view": "torch.mul(x, y, out=torch.zeros(6, 4).t()).stride()[0] + x",
    "out that grows": "torch.sub(x, y, out=torch.empty(0))",
    "float to int in place": "x.long().mul_(3).add_(y.long()).float()",
    "index put twice": "torch.zeros(4, 6).index_put((torch.tensor([1, 1]),), x[:2], True)",
    "data": "[z := x.clone(), z.data.mul_(2), z][-1] + y",
    "real of complex": "[z := torch.complex(x, y), z.real.mul_(2), torch.view_as_real(z)][-1]",
    "conj view": "torch.view_as_real((torch.complex(x, y).conj() * 2j).resolve_conj())",
    "negative view": "torch.complex(x, y).conj().imag + x",
    "set storage": "torch.empty(0).set_(x.clone().untyped_storage(), 2, (3, 2), (4, 1))",
    "channels last": "x.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last).add(1)"
    ".reshape(2, -1)",
    "unfold in place": "[z := x.clone(), z.unfold(0, 2, 2).mul_(2), z][-1]",
    "zero step": "x.expand(2, 4, 6).transpose(0, 2).cumsum(1) + y[0, 0]",
    "squeeze in place": "x.clone().unsqueeze_(0).squeeze_(0).t_().add_(1)",
}
#: Orders, ties and places.
_ORDERS = {
    "argmax of ties": "(x > 0).int().argmax(1) + (y * 0).argmin(0)[:4]",
    "sort of a sort": "x.round().sort(dim=1, stable=True)[1].sort(1)[0] + y",
    "topk of a transpose": "torch.topk(x.t().round(), 2, 0)[0] + y[0, :4]",
    "median of ties": "x.round().median(1)[0] + y.nanmedian()",
    "mode": "x.round().mode(1)[0] + y[:, 0]",
    "searchsorted of a sort": "torch.searchsorted(x.sort(1)[0], y, right=True)",
    "searchsorted by sorter": "torch.searchsorted(x, y, sorter=x.argsort(1))",
    "bucketize of columns": "torch.bucketize(x.t(), torch.tensor([-0.5, 0.0, 0.5])) * 2",
    "histc": "torch.histc(x, 5, 0, 0) + y[0, 0]",
    "histogram": "torch.histogram(x, torch.tensor([-1.0, 0.0, 1.0]))[0]",
    "unique of rounded": "torch.unique((x * 2).round(), return_counts=True)[1]",
    "quantile of several": "torch.quantile(x, torch.tensor([0.1, 0.5]), 1, True) + y[:, :1]",
    "nanquantile": "torch.nanquantile(x.where(x > 0, torch.nan), 0.3, 0)",
    "cummax of flipped": "x.flip(1).cummax(1)[0] + y.cummin(0)[1]",
    "cumsum of cumprod": "x.cumprod(0).cumsum(1).logcumsumexp(0) + y",
    "logcumsumexp of infinity": "(x / (x > 0)).neg().logcumsumexp(1)",
    "diff and trapezoid": "torch.trapezoid(x.diff(dim=1), y[:, 1:], dim=1)",
    "renorm": "torch.renorm(x, 2, 0, 1.0) + y",
    "where without others": "torch.where(x > 0)[0].sum() + y",
    "gather of argsort": "x.gather(1, y.argsort(1)).scatter(1, x.argsort(1), 2.0)",
}
#: Numbers of axes, sizes of one and of none.
_AXES = {
    "scalars": "(x.sum().cumsum(0) + y.sum().sort()[0]).argmax(0)",
    "scalar windows": "x.sum().unfold(0, 1, 1) + y[0, :1]",
    "scalar index": "x.sum()[..., None, None] + y.sum().expand(2, 3)[1:]",
    "scalar softmax": "x.sum().softmax(0) + y.sum().log_softmax(-1)",
    "scalar scatter": "x.sum().scatter_add(0, torch.tensor(0), y.sum())",
    "scalar select": "x.sum().index_select(0, torch.tensor([0])) + y[0, 0].flip(0)",
    "scalar kthvalue": "x.sum().kthvalue(1)[0] + y.sum().topk(1)[0]",
    "empty sums": "x[:0].sum(0) + y[:, :0].prod(1)[0]",
    "empty means": "x[:0].mean(0).nan_to_num() + y[:0].var(0).nan_to_num()",
    "empty cat": "torch.cat([x[:0], y, torch.empty(0)], 0)",
    "empty product": "x[:, :0] @ y[:0] + 1",
    "empty pad": "F.pad(x[:0], (1, 1, 2, 0), value=3) + y.sum()",
    "empty norms": "torch.linalg.vector_norm(x[:0], 0, 0) + y[:0].norm(1, 0)",
    "empty scan": "x[:, :0].cumsum(1).cumprod(0).sum() + y",
    "empty softmax": "x[:, :0].softmax(1).sum() + y[:0].softmax(1).sum()",
    "empty index": "x[torch.tensor([], dtype=torch.long)].sum(0) + y[0]",
    "empty batch of matrices": "torch.linalg.inv(x[:0, :, None] * y[:0, None]).sum()",
    "empty interpolation": "F.interpolate(x[None][:0], 3).sum() + y",
    "empty layer norm": "F.layer_norm(x[:0], (6,)).sum() + y",
    "empty group norm": "F.group_norm(x[:0, :, None], 3).sum() + y",
    "no axes of a sum": "x.sum(()) + y.mean(())[..., None]",
    "many axes": "x.reshape((1,) * 9 + (4, 6)).transpose(3, -1).sum((0, -2)) + y[0, 0]",
    "ones": "x[:1, :1].var(0, correction=0) + y[:1].std(0, correction=0)",
    "one of a batch norm": "F.batch_norm(x[:2], None, None, training=True) + y[:2]",
}
#: A reduction after or before something.
_REDUCTIONS = {
    "sum of transposes": "(x.t() @ y).t().sum(0).softmax(0).amax()",
    "variance of windows": "x.unfold(1, 3, 2).var(-1) + y.unfold(1, 3, 2).mean(-1)",
    "logsumexp of cat": "torch.cat([x, y.flip(0)], 1).logsumexp(1, keepdim=True) - x",
    "norm without power": "torch.norm(x, 0, 1) + torch.norm(y, float('inf'), 1)",
    "norm of minus infinity": "torch.linalg.vector_norm(x, -float('inf'), 0) + y",
    "embedding bag": "F.embedding_bag(y.abs().long(), x, mode='max')",
    "embedding bag of weights": "F.embedding_bag(torch.tensor([0, 2, 3]), x, torch.tensor([0, 0]),"
    " mode='sum', per_sample_weights=y[0, :3])",
    "embedding with a norm": "F.embedding(torch.tensor([0, 2, 2]), x.clone(), max_norm=0.5)",
    "pool and unpool": "F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2) + y",
    "fractional pool": "F.fractional_max_pool2d(x[None, None], 2, 2, _random_samples="
    "torch.full((1, 1, 2), 0.5))",
    "fold of unfold": "F.fold(F.unfold(x[None, None], 3, padding=1), (4, 6), 3, padding=1)",
    "shuffled pixels": "F.pixel_shuffle(x.reshape(4, 2, 3)[None], 2).flip(-1) + y.mean()",
    "grid of rolled": "F.grid_sample(x[None, None], y.reshape(1, 3, 4, 2).roll(1, 2), "
    "align_corners=False)",
    "einsum of a diagonal": "torch.einsum('ii,ij->j', x[:, :4], y)",
    "einsum of three": "torch.einsum('ab,cb,cd->ad', x, y, y)",
    "fft and back": "torch.fft.irfft(torch.fft.rfft(x * y, dim=0), 4, dim=0) + x.roll(1)",
    "solve one": "torch.linalg.solve(x[:1, :1] + 3, y[:1]) + torch.linalg.det(x[:0, :0])",
    "casts of special": "(x / (x > 0)).to(torch.int8) * 0 + y.nan_to_num().long()",
    "bool mean": "(x > 0).double().mean(1) + (y > 0).count_nonzero(1)",
    "bilinear": "F.bilinear(x, y, x[None, :, :1].repeat(2, 2, 6)[:, :6])",
    "attention": "F.scaled_dot_product_attention(x[None], y[None], x[None], y @ y.t() > 0)",
    "causal attention": "F.scaled_dot_product_attention(x[None], y[None], x[None], is_causal=True)",
    "ctc": "F.ctc_loss(F.log_softmax(x[:, None], 2), torch.tensor([[1, 1]]), [4], [2])",
    "weighted loss": "F.cross_entropy(x, y[:, 0].abs().long(), y[0].abs(), ignore_index=0)",
    "smooth loss": "F.cross_entropy(x, y.softmax(1), label_smoothing=0.2, reduction='none')",
    "pairs": "F.pdist(x) + F.pairwise_distance(x, y).sum()",
    "polygamma": "torch.polygamma(2, x.abs() + 1) + torch.special.zeta(y.abs() + 2, 1.5)",
}
#: Whole numbers, where a divisor may be zero or the quotient too large.
_WHOLE = {
    "floor division by zero": "x // y",
    "remainder by zero": "x % y",
    "truncated division by zero": "torch.div(x, y, rounding_mode='trunc')",
    "fmod by zero": "torch.fmod(x, y)",
    "int8 remainder by zero": "x.to(torch.int8) % y.to(torch.int8)",
    "zero to a negative power": "y ** (x - 9)",
    "least over minus one": "(y - 2**63) // -(y + 1 - y)",
    "remainder of least": "(y - 2**63) % -(y + 1 - y)",
    "index beyond": "x[y * 5]",
    "gather beyond": "x.gather(1, y * 7)",
    "embedding beyond": "F.embedding(x, y.float())",
    "scatter beyond": "x.scatter(0, y * 8, 1)",
    "index put beyond": "x.index_put((y[0] * 9,), torch.tensor(2))",
    "index select beyond": "x.index_select(0, x[0] + 9)",
    "index add beyond": "x.index_add(0, y[0, :3] * 9, x)",
    "take beyond": "x.take(y * 99)",
    "one hot beyond": "F.one_hot(x, 3)",
    "loss beyond": "F.nll_loss(y.float(), x[:, 0])",
    "repeat negative": "x.repeat_interleave(y[0] - 2, 1)",
    "bincount negative": "torch.bincount(y.reshape(-1) - 1)",
    "unpool beyond": "F.max_unpool1d(x.float()[:, :2], y[:, :2] * 99, 2)",
    "embedding bag beyond": "F.embedding_bag(x, y.float())",
    "shift by negative": "x << -y",
    "gcd and lcm": "torch.gcd(x, y * 6) + torch.lcm(x - 4, y)",
}
