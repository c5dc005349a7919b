"""Operators that an exported PyTorch program may call: those that only compute.

The operators of PyTorch's own namespaces are kernels of PyTorch itself: whichever of them a file
names, nothing of the file's runs. So all of them are taken that make tensors and numbers of such,
but for those that reach something else: files, streams, the process, other devices and layouts,
formats whose kernels trust what is packed, and loops as long as a number says.
"""

from __future__ import annotations

import functools
import importlib
import logging
import math
import re
from collections.abc import Mapping
from typing import Any

from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.errors import UserError

_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)\.(\w+)", re.ASCII)
_ARITHMETIC = re.compile(r"_operator\.(add|sub|mul|floordiv|truediv|mod|neg|pow|eq|ne|lt|le|gt|ge)")
_PYTORCHS = ("aten", "prims")
#: Namespaces of quantised programs' operators, the module that registers them, and those that are
#: taken: between integers and the real numbers that they stand for. Both libraries write them in
#: Python, out of PyTorch's own kernels.
_QUANTISED = {
    "quantized_decomposed": (
        "torch.ao.quantization.fx._decomposed",
        re.compile(
            r"(de)?quantize_per_(tensor|channel|token)|choose_qparams(_symmetric)?", re.ASCII
        ),
    ),
    "torchao": (
        "torchao.quantization",
        re.compile(r"(de)?quantize_affine|choose_qparams_affine", re.ASCII),
    ),
}
#: Types of what an operator returns, where it is one number.
_NUMBERS = (["int"], ["float"], ["bool"], ["number"])
#: Types of what an operator takes and gives that only computes.
_TYPE = re.compile(
    r"(?:(?:Optional|List)\[)*(?:Tensor|int|float|bool|number|str|Device|Generator)\]*"
)

#: Operators that do more, by their names.
_MORE = (
    # Files, the process, and what is printed; tests of PyTorch's own.
    r"from_file|save|_print|_foobar|_test_.*|_debug_.*|_use_.*|manual_seed|(initial_)?seed",
    # Storages, gradients, streams, wrappers and devices.
    r"set|set_data|data|_?resize.*|_copy_from.*|copy_to|_lazy_clone|_has_.*|_version|output_nr",
    r"retains?_grad|requires_grad|is_leaf|_?backward|get_gradients|record_stream|_?pin_memory",
    r"is_pinned|get_device|device_put|rename.*|_(add|remove)_batch_dim|_(make|unpack)_dual.*",
    r"_fw_primal.*|_propagate_.*|_make_(dep_)?token|_sink_tokens|_efficientzerotensor",
    r"_(foreach|fused_ada|fused_sgd|amp)_?.*|_pack_padded_.*|_pad_packed_.*|_transformer_.*",
    # Other devices, layouts and number formats.
    r".*(cudnn|cufft|miopen|mkldnn|mps|triton|vulkan|xnnpack|nnpack|cslt|overrideable).*",
    r".*(sparse|nested|jagged|coalesce|compressed|smm|spmm|spdiags|spsolve|sspaddmm).*",
    r".*(quantized|qparams|fbgemm|int4pack|fp16_weight|rowwise|wrapped|dyn_quant|scaled_mm).*",
    r"(ccol_|crow_|col_|row_|_)?(indices|values)(_copy)?|_nnz|int_repr|q_.*|_philox.*",
    r"quantize_per_.*|_convert_indices.*|_validate_.*|_sobol.*|_histogramdd_.*",
    # Kernels that trust their arguments: their callers have checked them.
    r".*_backward(_.*)?|unflatten_dense_tensors|hash_tensor|_grid_sampler_2d_cpu_fallback",
    r".*flash_attention_(forward|backward).*|_efficient_attention.*|.*multi_head_attention",
    r"_?segment_reduce.*|_reshape_alias.*|_index_put_impl|(linalg_)?(lu|ldl)_(solve|unpack)",
    # As many steps as a number says.
    r".*polynomial.*|combinations|special_multigammaln|mvlgamma",
)
_DOES_MORE = re.compile("|".join(f"(?:{pattern})" for pattern in _MORE), re.ASCII)


@functools.lru_cache(maxsize=10_000)
def only_computes(target: str) -> bool:
    """Whether a node calls what makes tensors and numbers of such, and reaches nothing else."""
    import torch

    if _ARITHMETIC.fullmatch(target):
        return True
    operator = _operator(target)
    if operator is None:
        return False
    if torch.Tag.core in operator.tags:
        return True
    space, _, name = operator._schema.name.partition("::")
    if space in _QUANTISED:
        return bool(_QUANTISED[space][1].fullmatch(name))
    values = (*operator._schema.arguments, *operator._schema.returns)
    plain = all(_TYPE.fullmatch(str(value.type)) for value in values)
    given = not any(argument.is_out for argument in operator._schema.arguments)
    return plain and given and not _DOES_MORE.fullmatch(name.removesuffix("_"))


@functools.lru_cache(maxsize=10_000)
def schema_of(target: str) -> Any:
    """The schema of an operator; None of Python's arithmetic, which works on numbers by place.

    Args:
        target: of which :func:`only_computes` is true.
    """
    operator = _operator(target)
    return operator and operator._schema


def gives_number(target: str) -> bool:
    """Whether an operator gives one number, which Python then computes with."""
    schema = schema_of(target)
    return schema is None or [str(given.type) for given in schema.returns] in _NUMBERS


def _operator(target: str) -> Any:
    """An operator that is registered in PyTorch's dispatcher; None where there is none."""
    import torch

    named = _OPERATOR.fullmatch(target)
    if named is None or named[1] not in (*_PYTORCHS, *_QUANTISED):
        return None
    if named[1] in _QUANTISED:
        import_quietly(_QUANTISED[named[1]][0])
    packet = getattr(getattr(torch.ops, named[1]), named[2], None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return None
    overloads: list[str] = packet.overloads()  # type: ignore[no-untyped-call]
    if named[3] not in overloads:
        return None
    operator = getattr(packet, named[3])
    return operator if torch._C._dispatch_has_kernel(operator.name()) else None


def import_quietly(name: str) -> Any:
    """A module of a library that warns, when it is imported, of what it finds on no processor.

    TorchAO looks for kernels of GPUs. They are not needed here.
    """
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return importlib.import_module(name)
    finally:
        logging.disable(before)


#: Bits of an integer that arithmetic may give, and of one that an operator gives: a size.
_MOST_BITS, _MOST_STATED = 1024, 64
_SYMBOLIC = ("as_sym_int", "as_sym_float", "as_sym_bool")


def require_small_numbers(nodes: list[dict[str, Any]], source: str) -> None:
    """Reject integers that take the machine, as powers of powers, and what is no number.

    Python computes these, and would also repeat a list a thousand million times.

    Args:
        nodes: of a graph, as PyTorch's schema has them.
        source: the file, for messages.

    Raises:
        UserError: a step computes such.
    """
    bits: dict[str, int] = {}  # of each number that a step gives
    for node in nodes:
        target, size = node["target"], _MOST_STATED
        if schema_of(target) is None:
            size = _bits_given(target, [given["arg"] for given in node["inputs"]], bits)
        named = [n for output in node["outputs"] if (n := _number_named(output)) is not None]
        if size > _MOST_BITS or (named and not gives_number(target)):
            raise UserError(
                f"{source} computes no number with {target}, or too large a one: not opened"
            )
        bits |= dict.fromkeys(named, size)


def _number_named(argument: Mapping[str, Any]) -> str | None:
    """The name of the number that an argument or an output is; None of what has no such name."""
    named = [argument[kind].get("as_name") for kind in _SYMBOLIC if kind in argument]
    return named[0] if named else None


def _bits(argument: Mapping[str, Any], known: Mapping[str, int]) -> int:
    """Bits of a number that Python computes with; none of a float, too many of what is none."""
    ((kind, value),) = argument.items()
    if kind in _SYMBOLIC:
        ((_, value),) = value.items()
    if isinstance(value, str):
        return known.get(value, _MOST_BITS + 1)
    if isinstance(value, float):
        return 0
    return max(1, value.bit_length()) if isinstance(value, int) else _MOST_BITS + 1


def _bits_given(target: str, given: list[Mapping[str, Any]], known: Mapping[str, int]) -> int:
    """Bits of what Python's arithmetic gives."""
    bits = [_bits(argument, known) for argument in given]
    if max(bits, default=0) > _MOST_BITS:
        return _MOST_BITS + 1
    if 0 in bits or target == "_operator.truediv":
        return 0
    if target == "_operator.mul":
        return sum(bits)
    if target == "_operator.pow":
        power = given[-1].get("as_int", given[-1].get("as_sym_int", {}).get("as_int"))
        return _MOST_BITS + 1 if power is None else bits[0] * max(1, abs(power))
    return max(bits, default=0) + 1


#: Arguments that are no sizes: places, and how far apart numbers lie.
_PLACES = frozenset(
    (
        *("dim", "dims", "dim0", "dim1", "axis", "start", "end", "step", "index", "indices"),
        *("offset", "diagonal", "stride", "strides", "storage_offset", "low", "high", "shifts"),
        *("padding_idx", "ignore_index", "blank", "seed", "correction"),
    )
)


def require_small_results(nodes: list[dict[str, Any]], source: str) -> None:
    """Reject numbers of which operators make more than a machine takes: ``full([10**12])``.

    What depends on the tensors themselves is for the process' own limit.

    Args:
        nodes: of a graph, as PyTorch's schema has them.
        source: the file, for messages.

    Raises:
        UserError: an operator is given such.
    """
    for node in nodes:
        schema = schema_of(node["target"])
        if schema is None:
            continue
        kinds = {a.name: str(a.type) for a in schema.arguments}
        given = {g["name"]: g["arg"] for g in node["inputs"]}
        sized = (n for n in given if "int" in kinds[n] and n not in _PLACES)
        wanted = max((math.prod(map(_size, _integers(given[n]))) for n in sized), default=1)
        if schema.name in ("aten::arange", "aten::range", "prims::iota"):
            first, last, step = (_stated(given.get(n), d) for n, d in _RANGE.items())
            wanted = max(wanted, int(abs(last - first) / max(abs(step), 1e-300)))
        what = f"{source} asks {node['target']} for a tensor"
        require_size_within_limit(wanted, "limits.array_mb", what)


#: What a range is made of, and what each is where it is not given.
_RANGE = {"start": 0.0, "end": 0.0, "step": 1.0}


def _stated(argument: Mapping[str, Any] | None, default: float) -> float:
    values = (
        [] if argument is None else [v for v in argument.values() if isinstance(v, int | float)]
    )
    return float(values[0]) if values else default


def _size(number: int) -> int:
    return max(1, abs(number))


def _integers(argument: Mapping[str, Any]) -> list[int]:
    """The integers that an argument states; one for each that is known when it runs."""
    ((kind, value),) = argument.items()
    if kind == "as_int":
        return [value]
    if kind == "as_ints":
        return list(value)
    if kind in ("as_sym_int", "as_sym_ints"):
        several = value if isinstance(value, list) else [value]
        return [one.get("as_int", 1) for one in several]
    return []
