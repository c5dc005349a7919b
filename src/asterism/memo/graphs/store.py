"""Files of models: graphs as JSON, their stored weights as one npz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.weights import Arrays, Stored


def write_models(folder: Path, models: dict[str, Graph]) -> None:
    """``models.json``: graphs by name, in order."""
    listed = [{"name": name, **graph.to_json()} for name, graph in models.items()]
    write_json(folder / "models.json", listed)


def read_models(folder: Path) -> dict[str, Graph]:
    """What :func:`write_models` wrote."""
    listed: list[dict[str, Any]] = read_json(folder / "models.json")
    return {str(m["name"]): Graph.from_json(m) for m in listed}


def write_weights(path: Path, layers: Arrays) -> None:
    """Arrays of layers that were read; there is a file also where there are none.

    An array's key is its layer's name, its number there, and its variable's name.
    """
    arrays = {
        f"{layer}/{number}/{variable}": array
        for layer, many in layers.items()
        for number, (variable, array) in enumerate(many)
    }
    write_arrays(path, **(arrays or {"none/0/none": np.zeros(0, np.float32)}))


def read_weights(path: Path) -> Stored:
    """What :func:`write_weights` wrote."""
    layers: Arrays = {}
    for key, array in sorted(read_arrays(path).items(), key=lambda item: _parts(item[0])):
        layer, _, variable = _parts(key)
        layers.setdefault(layer, []).append((variable, array))
    return layers


def _parts(key: str) -> tuple[str, int, str]:
    """Layer, number and variable of a key; a layer's name may have slashes of its own."""
    layer, number, variable = key.rsplit("/", 2)
    return layer, int(number), variable
