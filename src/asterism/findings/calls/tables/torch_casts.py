"""Small programs of PyTorch around dtypes: casts, views of bits, narrow and unsigned numbers."""

from __future__ import annotations

from asterism.findings.calls.call import Code, Family
from asterism.findings.calls.table import TABLES, floats, ints

_EIGHT = tuple(
    Code(f"torch.float8_{name}") for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")
)
_UNSIGNED = tuple(Code(f"torch.uint{bits}") for bits in (16, 32, 64))
_HALF = (Code("torch.float16"), Code("torch.bfloat16"))
_NARROW = (Code("torch.int8"), Code("torch.uint8"), Code("torch.int16"), Code("torch.bool"))


@TABLES.register("torch:casts")
def casts() -> list[Family]:
    """Numbers of eight bits, unsigned numbers, bits of one dtype as another, mixed dtypes."""
    return [*_narrow_floats(), *_unsigned(), *_bits(), *_mixed(), *_accumulated()]


def _narrow_floats() -> list[Family]:
    """Programs through a floating point of eight bits."""
    programs = {
        "round trip": "x.to({t}).float()",
        "sum": "(x.to({t}).float() * 2).sum(-1)",
        "cat": "torch.cat([x.to({t}), y.to({t})]).float()",
        "where": "torch.where(x > 0, x.to({t}), y.to({t})).float()",
        "transposed": "x.t().to({t}).t().contiguous().float() + 1",
        "pad": "F.pad(x.to({t}), (1, 2)).float()",
        "index": "x.to({t})[:, torch.tensor([0, 2, 2])].float()",
        "view": "x.to({t}).view(torch.uint8) + 1",
        "flip": "x.to({t}).flip(0).float()",
        "both": "(x.to({t}).to(torch.bfloat16) * y.to({t}).to(torch.bfloat16)).float()",
        "full": "torch.full((2, 3), 0.5, dtype={t}).float() + x[:2, :3]",
        "zeros": "x.new_zeros((3, 4), dtype={t}).float() + x",
        "copy": "torch.empty(3, 4, dtype={t}).copy_(x).float()",
    }
    return [
        Family(f"float8 {name}", text, ((floats(3, 4), floats(3, 4)),), {"t": _EIGHT})
        for name, text in programs.items()
    ]


def _unsigned() -> list[Family]:
    """Programs of unsigned numbers."""
    programs = {
        "round trip": "x.to({t}).to(torch.int64)",
        "and": "(x.to({t}) & y.to({t})).to(torch.int64)",
        "or shifted": "(x.to({t}) << 1 | y.to({t})).to(torch.int64)",
        "add": "(x.to({t}) + y.to({t})).to(torch.int64)",
        "sub": "(y.to({t}) - x.to({t})).to(torch.int64)",
        "mul": "(x.to({t}) * 3).to(torch.int64)",
        "less": "x.to({t}) < y.to({t})",
        "float": "x.to({t}).float() / 3",
        "where": "torch.where(x > 3, x.to({t}), y.to({t})).to(torch.int64)",
        "not": "(~x.to({t})).float()",
        "sum": "x.to({t}).sum().to(torch.int64)",
        "max": "x.to({t}).amax(-1).to(torch.int64)",
        "bits": "x.to({t}).view(torch.uint8)",
        "of floats": "(x.float() * 3).to({t}).to(torch.int64)",
        "cat": "torch.cat([x.to({t}), y.to({t})], 1).to(torch.int64)",
    }
    given = (ints(3, 4, below=9), ints(3, 4, below=9))
    return [
        Family(f"unsigned {name}", text, (given,), {"t": _UNSIGNED})
        for name, text in programs.items()
    ]


def _bits() -> list[Family]:
    """Bits of one dtype read as another."""
    halves = {
        "and back": "(x.to({t}).view(torch.int16) + 1).view({t}).float()",
        "of a cast": "x.to({t}).view(torch.int16) & 255",
        "as bytes": "(x.to({t}) * 2).view(torch.uint8)",
        "swapped": "(x.to(torch.float16).view(torch.bfloat16).float() * 2).nan_to_num()",
        "shifted": "(x.to({t}).view(torch.int16) >> 3).float()",
    }
    wholes = {
        "exponent": "(x.view(torch.int32) >> 23) & 255",
        "sign": "(x.view(torch.int32) & -2147483648).view(torch.float32)",
        "as float64": "x.view(torch.float64).view(torch.float32) + 1",
        "as complex": "torch.view_as_real(x.view(torch.complex64) * 2)",
        "as bool": "(x > 0).view(torch.uint8) + 1",
        "as int8": "(x > 0).view(torch.int8).sum(0)",
        "transposed": "(x.t() + 1).t().view(torch.int16)",
        "half as int64": "x.half().view(torch.int64) // 3",
    }
    return [
        *(
            Family(f"bits {name}", text, ((floats(3, 4),),), {"t": _HALF})
            for name, text in halves.items()
        ),
        *(Family(f"bits {name}", text, ((floats(3, 4),),)) for name, text in wholes.items()),
    ]


def _mixed() -> list[Family]:
    """Several dtypes in one kernel."""
    programs = {
        "bool and half": "torch.where(x > 0, x.half(), (y > 0).half()).sum(0)",
        "int8 and float": "x.to(torch.int8) * y + (x > y)",
        "half and double": "x.half() * y.double() + x.bfloat16()",
        "bool sum": "((x > 0) + (y > 0)).sum(1) + (x.double() > 0)",
        "argmax of half": "x.half().argmax(1) + y.bfloat16().argmin(1)",
        "max of bool": "(x > 0).amax(1) | (y > 0).amin(1)",
        "any of half": "x.half().any(1) & y.to(torch.int8).all(1)",
        "product of bool": "(x > 0).prod(1) + y.abs().to(torch.uint8).prod(1)",
        "uint8 minus": "(x * 9).to(torch.int64).to(torch.uint8) - y.abs().to(torch.uint8) * 200",
        "long mask": "torch.where(x.long() == 0, x.double(), y.long())",
        "sums of half": "x.half().sum(0, dtype=torch.float64) + y.bfloat16().mean(0)",
        "softmax of half": "x.half().softmax(1) + y.softmax(1, dtype=torch.float64)",
        "variance of half": "x.bfloat16().var(0) + y.half().std(0)",
        "cumsum of bool": "(x > 0).cumsum(1) + (y > 0).cumprod(1)",
        "cumsum of int8": "x.to(torch.int8).cumsum(0, dtype=torch.int8) + y.half().cumsum(0)",
        "sort of bool": "(x > 0).sort(1, stable=True)[1] + y.half().sort(1, stable=True)[1]",
        "scalar of half": "x + torch.tensor(2.5, dtype=torch.float16).double()",
        "complex of double": "torch.view_as_real(torch.complex(x, y) * x.double())",
        "int over negative": "(x * 9).long() // -3 + (y * 9).int() % -4",
        "int8 over negative": "torch.div((x * 30).to(torch.int8), -7, rounding_mode='floor')",
        "remainder of uint8": "x.abs().mul(50).to(torch.uint8) % 7 + y.to(torch.int8) % -3",
        "power of ints": "(x * 3).long() ** 3 + (y * 3).to(torch.int8) ** 2",
        "shift beyond": "torch.ones_like(x, dtype=torch.int32) << (y.long() + 33).int()",
        "shift of int8": "(x * 9).to(torch.int8) << 3 >> (y > 0).to(torch.int8)",
        "nextafter of half": "torch.nextafter(x.bfloat16(), y.bfloat16()).float()",
        "frexp of half": "torch.frexp(x.half())[0] + torch.frexp(y)[1]",
        "copysign of int": "torch.copysign(x.long(), y) + torch.copysign(y, -0.0)",
        "sign of bool": "(x > 0).sign() ^ (y > 0).sgn()",
        "gcd of int8": "torch.gcd((x * 30).to(torch.int8), (y * 30).to(torch.int8))",
        "igamma of half": "torch.igamma(x.abs().bfloat16(), y.abs().bfloat16())",
        "isin": "torch.isin((x * 3).to(torch.int8), (y * 3).to(torch.int8))",
        "mixed clamp": "x.half().clamp(min=y.half()) + y.to(torch.int8).clamp(-1, 1)",
        "mixed minimum": "torch.minimum(x.half(), y.double()) + torch.maximum(x.long(), y)",
    }
    return [
        Family(f"mixed {name}", text, ((floats(3, 20), floats(3, 20)),))
        for name, text in programs.items()
    ]


def _accumulated() -> list[Family]:
    """Several numbers added at one place, in each dtype."""
    programs = {
        "scatter_add": "torch.zeros(3, 4).to({t}).scatter_add(0, y, x.to({t}))",
        "index_add": "torch.zeros(3, 4).to({t}).index_add(0, y[0], x.to({t})[:1].repeat(4, 1))",
        "index_put": "torch.zeros(9).to({t}).index_put((y,), x.to({t}), accumulate=True)",
        "amax": "torch.zeros(3, 4).to({t}).scatter_reduce(0, y, x.to({t}), 'amax')",
        "prod": "torch.ones(3, 4).to({t}).scatter_reduce(0, y, x.to({t}), 'prod')",
        "mean": "torch.ones(3, 4).to({t}).scatter_reduce(0, y, x.to({t}), 'mean')",
        "bincount": "torch.bincount(y.reshape(-1).to({t}).long(), x.reshape(-1), minlength=5)",
    }
    given = (floats(2, 4), ints(2, 4, below=3))
    dtypes = (*_NARROW, *_HALF, Code("torch.complex64"))
    return [
        Family(f"accumulated {name}", text, (given,), {"t": dtypes})
        for name, text in programs.items()
    ]
