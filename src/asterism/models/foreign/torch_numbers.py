"""Numbers of an exported PyTorch program: what Python computes, and sizes that operators make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from asterism.core.files.limits import require_room
from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_operators import gives_number, schema_of

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
        require_room(wanted, "limits.array_mb", what)


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
