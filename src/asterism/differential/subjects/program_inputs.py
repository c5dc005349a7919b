"""Inputs of exported programs: sizes that fit together, and integers within rows they index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from asterism.differential.engine.inputs import BATCH

#: Operators that put out values of what they read first as they are.
_PASSES = frozenset(
    (
        *("_to_copy", "alias", "broadcast_to", "cat", "clamp", "clone", "contiguous", "detach"),
        *("expand", "expand_as", "flatten", "movedim", "permute", "remainder", "repeat", "reshape"),
        *("roll", "select", "slice", "split", "squeeze", "stack", "t", "tile", "to", "transpose"),
        *("type_as", "unflatten", "unsqueeze", "view", "where", "index_select", "gather", "pad"),
    )
)


def resolve_shapes(
    inputs: Mapping[str, Any], size: int, shapes: Mapping[str, Sequence[int]]
) -> dict[str, list[int]]:
    """A shape for every input: sizes of one symbol are equal, and expressions follow from them.

    Args:
        inputs: the program's placeholders, by what the user calls them.
        size: stands for free sizes but the first axis', which is the batch.
        shapes: what the user says of some, with the batch.
    """
    free = {title: list(node.meta["val"].shape) for title, node in inputs.items()}
    known: dict[Any, int] = {}
    for title, given in shapes.items():
        for one, number in zip(free.get(title, ()), given, strict=False):
            if _is_symbol(one):
                known.setdefault(one.node.expr, number)
    for batch in (True, False):
        for sizes in free.values():
            for at, one in enumerate(sizes):
                for symbol in () if isinstance(one, int) else one.node.expr.free_symbols:
                    if ((at == 0 and _is_symbol(one)) == batch) and symbol not in known:
                        known[symbol] = _within(one, symbol, BATCH if batch else size)
    return {
        title: list(shapes.get(title) or (_value(one, known) for one in sizes))
        for title, sizes in free.items()
    }


def _is_symbol(size: Any) -> bool:
    return not isinstance(size, int) and bool(size.node.expr.is_symbol)


def _within(size: Any, symbol: Any, wanted: int) -> int:
    """The size nearest to the wanted one that the program takes."""
    bounds = size.node.shape_env.var_to_range.get(symbol)
    if bounds is None:
        return wanted
    return int(max(bounds.lower, min(wanted, bounds.upper), 1))


def _value(size: Any, known: Mapping[Any, int]) -> int:
    """A size by the symbols in it; one where nothing sensible follows, which PyTorch rejects."""
    if isinstance(size, int):
        return size
    found = size.node.expr.subs(known)
    return max(1, int(found)) if found.is_integer and found.is_finite else 1


def find_index_bounds(nodes: Sequence[Any], hint: Callable[[Any], int]) -> dict[str, int]:
    """For inputs that index tables, the smallest table's number of rows: drawn integers lie below.

    Args:
        nodes: the nodes of the program's graph.
        hint: gives a number for a size.
    """
    same: dict[Any, dict[str, int]] = {}
    bounds: dict[str, int] = {}
    for node in nodes:
        if node.op == "placeholder":
            same[node] = {node.name: 0}
        if node.op != "call_function":
            continue
        with suppress(IndexError, TypeError):  # of arguments that no export gives
            for table, rows in _indexed(node, hint):
                for source, offset in same.get(table, {}).items():
                    bounds[source] = max(1, min(bounds.get(source, rows), rows - offset))
        if passed := dict(_passed(node, same)):
            same[node] = passed
    return bounds


def _name(node: Any) -> str:
    return str(node.target).split(".")[1] if "." in str(node.target) else ""


def _passed(node: Any, same: Mapping[Any, Mapping[str, int]]) -> Iterator[tuple[str, int]]:
    """The inputs whose values a step puts out, and what was added to them."""
    name = _name(node)
    if name in ("add", "sub") and len(node.args) > 1 and isinstance(node.args[1], int):
        more = node.args[1] if name == "add" else -node.args[1]
        yield from ((source, at + more) for source, at in same.get(node.args[0], {}).items())
    elif name in _PASSES:
        reads = node.all_input_nodes if name in ("cat", "stack", "where") else node.args[:1]
        for read in reads:
            yield from same.get(read, {}).items()


def _indexed(node: Any, hint: Callable[[Any], int]) -> Iterator[tuple[Any, int]]:
    """What a step indexes by, and how many rows there are."""
    name, args = _name(node).rstrip("_"), node.args
    sizes = [hint(s) for s in getattr(_meta(args[0]), "shape", ())] if args else []
    if name in ("embedding", "embedding_bag", "_embedding_bag"):
        yield args[1], sizes[0]
    elif name in ("index", "index_put", "_unsafe_index", "_index_put_impl"):
        yield from ((i, s) for i, s in zip(args[1], sizes, strict=False) if i is not None)
    elif name in ("take", "put"):
        yield args[1], math.prod(sizes)
    elif name == "one_hot" and args[1] > 0:
        yield args[0], args[1]
    elif name.startswith(("nll_loss", "cross_entropy_loss")):
        yield args[1], sizes[min(1, len(sizes) - 1)]
    elif name.startswith(_BY_AXIS):
        yield args[2], sizes[args[1]]


#: Operators of a tensor, an axis and indices.
_BY_AXIS = ("gather", "index_add", "index_copy", "index_fill", "index_select", "scatter")


def _meta(value: Any) -> Any:
    return getattr(value, "meta", {}).get("val")
