"""Numbers that an exported PyTorch program computes in Python, from sizes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
                f"{source} computes with {target} what is no number, or too large a one: not opened"
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
