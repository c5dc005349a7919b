"""Mutators for trees of mappings, lists and values, as JSON and YAML hold them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import yaml

from reader_fuzzing.mutators import Mutator
from reader_fuzzing.mutators.text import TOKENS

#: The safe ones, in C where that was built.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: What stands in a value's place.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, -(2**31), 2**63, 10**30, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "x", [], {}, [[]], {"": None}, [None] * 50, ["a", 1, None],
    {"class_name": "Lambda", "config": {}}, {"class_name": "__lambda__", "config": {}}, "__class__",
    {"class_name": "this", "module": "this", "config": {}, "registered_name": None},
    {"class_name": "function", "module": "builtins", "config": "eval", "registered_name": "eval"},
    {"class_name": "system", "module": "os", "config": {}, "registered_name": None},
    "../../outside/secret.txt", "os.system", [1] * 40,
)  # fmt: skip


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values below a tree's root."""
    found: list[tuple[Any, ...]] = []
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found.append((*path, key))
            found += _places(value, (*path, key))
    return found


def _holder(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree


Change = Callable[[Any, tuple[Any, ...], Random], Any]


def value_replaced(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    odd = random.choice((*ODD_VALUES, *TOKENS))
    _holder(tree, path)[path[-1]] = copy.deepcopy(odd)
    return tree


def value_gone(tree: Any, path: tuple[Any, ...], _random: Random) -> Any:
    del _holder(tree, path)[path[-1]]
    return tree


def number_changed(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    places = [p for p in _places(tree) if type(_holder(tree, p)[p[-1]]) in (int, float)]
    path = random.choice(places or [path])
    values = (0, -1, 1, 7, 10**6, 2**31 - 1, 2**40, 2**63, 10**25, -(10**9), 0.1, 1e-300, 1e300)
    _holder(tree, path)[path[-1]] = random.choice(values)
    return tree


def word_changed(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    words = [p for p in _places(tree) if isinstance(_holder(tree, p)[p[-1]], str)]
    if not words:
        return value_replaced(tree, path, random)
    path = random.choice(words)
    other = random.choice(words)
    word = _holder(tree, path)[path[-1]]
    odd = (_holder(tree, other)[other[-1]], word[:-1], word * 2, word.upper(), *TOKENS)
    _holder(tree, path)[path[-1]] = random.choice(odd)
    return tree


def key_renamed(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    holder = _holder(tree, path)
    if isinstance(holder, list):
        return value_gone(tree, path, random)
    value = holder.pop(path[-1])
    holder[random.choice((f"{path[-1]}x", "__class__", "module", "", *TOKENS))] = value
    return tree


def key_added(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    holder = _holder(tree, path)
    value = copy.deepcopy(random.choice(ODD_VALUES))
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), value)
    else:
        key = random.choice(("x", "__class__", "module", "class_name", "name", *TOKENS))
        holder[key] = value
    return tree


def moved(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    other = random.choice(_places(tree))
    value = copy.deepcopy(_holder(tree, other)[other[-1]])
    _holder(tree, path)[path[-1]] = value
    return tree


def multiplied(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    holder = _holder(tree, path)
    if isinstance(holder, list):
        holder[:] = holder * random.choice((2, 3, 100))
    else:
        holder[f"{path[-1]}"] = [holder[path[-1]]] * random.choice((2, 100))
    return tree


def wrapped(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    holder = _holder(tree, path)
    value = holder[path[-1]]
    for _ in range(random.choice((1, 3, 60))):
        value = [value] if random.random() < 0.5 else {"a": value}
    holder[path[-1]] = value
    return tree


def root_replaced(tree: Any, _path: tuple[Any, ...], random: Random) -> Any:
    parts = [_holder(tree, p)[p[-1]] for p in _places(tree)]
    return random.choice((*ODD_VALUES, [tree], {"a": tree}, *parts))


CHANGES: tuple[Change, ...] = (
    value_replaced, value_replaced, value_gone, number_changed, number_changed, word_changed,
    word_changed, key_renamed, key_added, moved, multiplied, wrapped, root_replaced,
)  # fmt: skip


def changed_tree(tree: Any, random: Random) -> Any:
    """A copy of a tree with one change somewhere."""
    tree = copy.deepcopy(tree)
    places = _places(tree)
    if not places:
        return copy.deepcopy(random.choice(ODD_VALUES))
    return random.choice(CHANGES)(tree, random.choice(places), random)


def json_changed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    tree = changed_tree(json.loads(data), random)
    return json.dumps(tree, indent=random.choice((None, 2))).encode("utf-8", "surrogatepass")


def yaml_changed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    tree = changed_tree(yaml.load(data, _LOADER), random)
    return yaml.dump(tree, Dumper=_DUMPER, sort_keys=False, allow_unicode=True).encode()


json_documents = SimpleNamespace(MUTATORS=(json_changed,) * 8)
yaml_documents = SimpleNamespace(MUTATORS=(yaml_changed,) * 6)
MUTATORS: tuple[Mutator, ...] = (json_changed, yaml_changed)
