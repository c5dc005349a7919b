"""ONNX operators that quantise, for the reference: ONNX Runtime's own, and what one step moves.

Where an operator quantises its inputs by itself, as ``MatMulNBits`` and ``DynamicQuantizeLSTM`` may
do, the reference computes with the inputs as they are. How far quantisation moves an output says a
second run, in which every number that is quantised is off by up to a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import stream

Array = NDArray[Any]

#: ONNX Runtime's domain.
DOMAIN = "com.microsoft"
#: ONNX's own operators whose first output is quantised.
QUANTISERS = ("DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear")
#: Operators that the evaluator lacks in early versions, or takes to be trained there: the first
#: version and the one that computes the same.
_NEWER = {"BatchNormalization": (7, 14), "DequantizeLinear": (10, 19)}
#: Within the names of PyTorch's operators that quantise, and of no others.
QUANTISER = ".quantize_"
#: One of so many numbers is off by a step where there are more than a few: rounding rarely decides.
_RARE, _FEW = 8, 64
#: Steps in the range of eight bits, and how many of them an input may be off that is quantised.
_STEPS, _OFF = 255, 2.0


def reference_operators(opset: int, *, off_by_a_step: bool) -> list[type]:
    """Implementations for ONNX's reference evaluator.

    Args:
        opset: version of ONNX's own operators.
        off_by_a_step: whether what is quantised is off by up to a step.
    """
    import onnx.defs
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops import load_op

    def own(name: str, compute: Callable[..., Array | tuple[Array, ...]]) -> type:
        def _run(self: Any, *inputs: Array, **attributes: Any) -> tuple[Array, ...]:
            made = compute(off_by_a_step, attributes, *inputs)
            outputs = made if isinstance(made, tuple) else (made,)
            return moved_by_a_step(outputs) if off_by_a_step else outputs

        return type(name, (OpRun,), {"op_domain": DOMAIN, "_run": _run})

    def of_version(name: str, version: int, *, moved: bool) -> type:
        base, schema = load_op("", name, version), onnx.defs.get_schema(name, version, "")

        def _run(self: Any, *inputs: Array, **attributes: Any) -> tuple[Array, ...]:
            given = {n: a for n, a in attributes.items() if n in schema.attributes}
            made: tuple[Array, ...] = base._run(self, *inputs, **given)
            return moved_by_a_step(made) if moved else made

        return type(name, (base,), {"_run": _run, "op_schema": schema})

    known = [own(name, compute) for name, compute in _OWN.items()]
    known += [
        of_version(name, version, moved=False)
        for name, (first, version) in _NEWER.items()
        if first <= opset < version
    ]
    if off_by_a_step:
        known += [of_version(name, opset, moved=True) for name in QUANTISERS]
    return known


def is_quantising(names: Iterable[str]) -> bool:
    """Whether one of these operators quantises what it reads or makes."""
    return not {*QUANTISERS, *_OWN}.isdisjoint(names)


def moved_by_a_step(outputs: tuple[Array, ...]) -> tuple[Array, ...]:
    """Outputs of which the first is off by a step in some elements, if it is of integers."""
    first = outputs[0]
    if first.dtype.kind not in "iu":
        return outputs
    rng = stream(0, "quantisation step", first.size)
    steps = rng.choice([-1, 1], first.shape)
    if first.size > _FEW:
        steps = steps * (rng.integers(0, _RARE, first.shape) == 0)
    limits = np.iinfo(first.dtype)
    wide = first.astype(np.int64)
    beyond = (wide + steps < limits.min) | (wide + steps > limits.max)
    off = np.where(beyond, wide - steps, wide + steps)  # the other way, where there is none
    return (off.astype(first.dtype), *outputs[1:])


def _quantised(array: Array, *, off: bool) -> Array:
    """What an operator computes with that quantises a floating input: it may be off by steps."""
    if not off or not array.size:
        return array
    step = (max(float(array.max()), 0.0) - min(float(array.min()), 0.0)) / _STEPS
    rng = stream(0, "quantisation step", array.size)
    return array + step * rng.uniform(-_OFF, _OFF, array.shape)


def _wide(q: Array, scale: Array, zero: Array | None = None) -> Array:
    """Numbers for integers; scales of rows and columns broadcast."""
    return (q.astype(np.float64) - (0 if zero is None else zero.astype(np.float64))) * scale


def _narrow(values: Array, scale: Array, zero: Array | None) -> Array:
    """Integers for numbers, of the type of their zero point."""
    kind = np.dtype(np.uint8) if zero is None else zero.dtype
    limits = np.iinfo(kind)
    rounded = np.rint(values / scale) + (0 if zero is None else zero.astype(np.float64))
    return np.clip(rounded, limits.min, limits.max).astype(kind)


def _padded(given: Sequence[Array | None], count: int) -> list[Any]:
    """The inputs of an operator, None for the optional ones that are not given."""
    return [*given, *[None] * (count - len(given))]


def _matmul_n_bits(off: bool, attributes: Mapping[str, Any], *given: Array | None) -> Array:
    a, packed, scales, zeros, groups, bias = _padded(given, 6)
    k, n, bits = attributes["K"], attributes["N"], attributes.get("bits", 4)
    size = attributes["block_size"]
    if groups is not None or packed.dtype != np.uint8:
        raise NotImplementedError("MatMulNBits with a group index is not supported")
    blocks = -(-k // size)
    q = _unpacked(packed.reshape(n * blocks, -1), bits)[:, :size].reshape(n, blocks, size)
    if zeros is None:
        zero = np.full((n, blocks, 1), 2.0 ** (bits - 1))
    elif zeros.dtype == np.uint8:
        zero = _unpacked(zeros.reshape(n, -1), bits)[:, :blocks, None]
    else:
        zero = zeros.reshape(n, blocks, 1)
    weights = _wide(q, scales.reshape(n, blocks, 1), zero).reshape(n, -1)[:, :k]
    made: Array = _quantised(a, off=off) @ weights.T
    return made if bias is None else made + bias


def _unpacked(packed: Array, bits: int) -> Array:
    """The numbers of some bits each in rows of bytes, the lowest bits first."""
    if bits not in (1, 2, 4, 8):
        raise NotImplementedError(f"numbers of {bits} bits are not supported")
    shifts = np.arange(0, 8, bits)
    numbers = (packed[..., None] >> shifts) & (2**bits - 1)
    found: Array = numbers.reshape(*packed.shape[:-1], -1).astype(np.float64)
    return found


def _dynamic_matmul(off: bool, attributes: Mapping[str, Any], *given: Array | None) -> Array:
    a, b, scale, zero, bias = _padded(given, 5)
    made: Array = _quantised(a, off=off) @ _wide(b, scale, zero)
    return made if bias is None else made + bias


def _integer_matmul(off: bool, attributes: Mapping[str, Any], *given: Array | None) -> Array:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = _padded(given, 7)
    made: Array = _wide(a, a_scale, a_zero) @ _wide(b, b_scale, b_zero)
    return made if bias is None else made + bias


def _dynamic_lstm(
    off: bool, attributes: Mapping[str, Any], *given: Array | None
) -> tuple[Array, ...]:
    x, w, r, bias, lengths, initial_h, initial_c, peepholes, w_scale, w_zero, r_scale, r_zero = (
        _padded(given, 12)
    )
    unusual = {"activations", "activation_alpha", "activation_beta", "clip", "input_forget"}
    if peepholes is not None or any(attributes.get(name) for name in unusual):
        raise NotImplementedError("DynamicQuantizeLSTM of another kind is not supported")
    steps, batch, _ = x.shape
    size, way = attributes["hidden_size"], attributes.get("direction", "forward")
    if lengths is not None and (lengths != steps).any():
        raise NotImplementedError("DynamicQuantizeLSTM on several lengths is not supported")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[way]
    start = np.zeros((len(backwards), batch, size))
    hs = (start if initial_h is None else initial_h).astype(np.float64)
    cs = (start if initial_c is None else initial_c).astype(np.float64)
    ys, last_h, last_c = np.zeros((steps, len(backwards), batch, size)), [], []
    read = _quantised(x, off=off)
    for d, back in enumerate(backwards):
        wide_w, wide_r = _wide(w[d], w_scale[d], w_zero[d]), _wide(r[d], r_scale[d], r_zero[d])
        add = 0.0 if bias is None else bias[d].reshape(2, -1).sum(0)
        h, c = hs[d], cs[d]
        for t in reversed(range(steps)) if back else range(steps):
            i, o, f, g = np.split(read[t] @ wide_w + _quantised(h, off=off) @ wide_r + add, 4, 1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
            ys[t, d] = h
        last_h.append(h)
        last_c.append(c)
    return ys, np.stack(last_h), np.stack(last_c)


def _sigmoid(x: Array) -> Array:
    made: Array = 0.5 * (1 + np.tanh(0.5 * x))
    return made


def _on_numbers(compute: Callable[..., Array]) -> Callable[..., Array]:
    """An operator of attributes and of numbers; each is given as integers, scale and zero point."""

    def run(off: bool, attributes: Mapping[str, Any], *given: Array) -> Array:
        count = (len(given) - 1) // 3
        wide = [_wide(*given[3 * i : 3 * i + 3]) for i in range(count)]
        scale, zero = _padded(given[3 * count :], 2)
        return _narrow(compute(attributes, *wide), scale, zero)

    return run


def _leaky(attributes: Mapping[str, Any], x: Array) -> Array:
    return np.where(x < 0, attributes.get("alpha", 0.01) * x, x)


def _global_mean(attributes: Mapping[str, Any], x: Array) -> Array:
    first = 1 if attributes.get("channels_last", 0) else 2
    axes = tuple(range(first, first + x.ndim - 2))
    made: Array = x.mean(axes, keepdims=True)
    return made


def _joined(off: bool, attributes: Mapping[str, Any], *given: Array) -> Array:
    scale, zero, *rest = given
    parts = [_wide(*rest[i : i + 3]) for i in range(0, len(rest), 3)]
    return _narrow(np.concatenate(parts, attributes["axis"]), scale, zero)


#: ONNX Runtime's own operators, by name.
_OWN: dict[str, Callable[..., Array | tuple[Array, ...]]] = {
    "DynamicQuantizeLSTM": _dynamic_lstm,
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "MatMulIntegerToFloat": _integer_matmul,
    "MatMulNBits": _matmul_n_bits,
    "QLinearAdd": _on_numbers(lambda _, a, b: a + b),
    "QLinearConcat": _joined,
    "QLinearGlobalAveragePool": _on_numbers(_global_mean),
    "QLinearLeakyRelu": _on_numbers(_leaky),
    "QLinearMul": _on_numbers(lambda _, a, b: a * b),
    "QLinearSigmoid": _on_numbers(lambda _, x: _sigmoid(x)),
}
