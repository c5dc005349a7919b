"""Layer types that backends do not support: how many models with them failed, how many ran.

A message rarely says which layer is to blame. The likely culprit is a type that occurs in no model
that ran. Where a message names an operator or a layer, the name stands beside the counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import layer_name

#: Columns of the table.
COLUMNS = ("backend", "layer", "unsupported", "ran", "named")

#: How messages name an operator: at their beginning, in quotes after its kind, or with its space.
_OPERATORS = (
    re.compile(r"^(?P<name>[A-Z]\w*)(?<!Error)(?<!Warning)(?<!Exception): "),
    re.compile(r"\b(?:[Oo]perator|[Oo]peration|[Oo]p|[Ll]ayer)s?:? ['\"`](?P<name>[\w:.]+)['\"`]"),
    re.compile(r"\b(?P<name>aten::\w+)"),
)


@dataclass
class _Count:
    """Models that hold a layer type, in one backend."""

    unsupported: set[int] = field(default_factory=set)
    ran: set[int] = field(default_factory=set)
    named: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))


def unsupported_table(
    graphs: Sequence[Graph], tasks: Iterable[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """A row for each backend and layer type that is in a model which the backend does not support.

    Args:
        graphs: the models, which tasks refer to by an index.
        tasks: the tasks of a record: models and inputs, and how they ended.
    """
    counts: dict[tuple[str, str], _Count] = defaultdict(_Count)
    for task in tasks:
        model, graph = task["index"], graphs[task["index"]]
        types = {graph.nodes[i].type for i in graph.layers}
        for outcome in task["outcomes"]:
            if outcome["status"] not in ("ok", "unsupported"):
                continue
            names = find_named_layers(outcome["message"], graph)
            for kind in types:
                count = counts[outcome["backend"], kind]
                if outcome["status"] == "ok":
                    count.ran.add(model)
                    continue
                count.unsupported.add(model)
                for name in names:
                    count.named[name].add(model)
    rows = [
        (backend, kind, len(c.unsupported), len(c.ran), _words(c.named))
        for (backend, kind), c in counts.items()
        if c.unsupported
    ]
    rows.sort(key=lambda row: (row[0], row[3] > 0, -row[2], row[1]))
    return {column: [row[at] for row in rows] for at, column in enumerate(COLUMNS)}


def find_named_layers(message: str, graph: Graph) -> list[str]:
    """The layer types and operators that a message names.

    Args:
        message: the message of a library.
        graph: the model, whose layers have names in Keras.
    """
    nodes = ((i, graph.nodes[i]) for i in graph.layers)
    found = [n.type for i, n in nodes if re.search(rf"\b{layer_name(i, n)}\b", message)]
    for pattern in _OPERATORS:
        found += [match["name"] for match in pattern.finditer(message)]
    return list(dict.fromkeys(found))


def _words(named: Mapping[str, set[int]]) -> str:
    """Names with the number of their models, the most frequent ones first."""
    counts = Counter({name: len(models) for name, models in sorted(named.items())})
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
