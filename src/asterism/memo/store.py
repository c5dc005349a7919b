"""Files of models: graphs as JSON, their stored weights as one npz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.memo.graph import Graph
from asterism.memo.weights import Arrays, Stored


def write_models(folder: Path, models: dict[str, Graph]) -> None:
    """``models.json``: graphs by name, in order."""
    listed = [{"name": name, **graph.to_json()} for name, graph in models.items()]
    write_json(folder / "models.json", listed)


def read_models(folder: Path) -> dict[str, Graph]:
    """What :func:`write_models` wrote."""
    listed: list[dict[str, Any]] = read_json(folder / "models.json")
    return {str(m["name"]): Graph.from_json(m) for m in listed}


def write_weights(path: Path, layers: Arrays) -> None:
    """Arrays of layers that were read; there is a file also where there are none."""
    arrays = {f"{name}/{i}": a for name, many in layers.items() for i, a in enumerate(many)}
    write_arrays(path, **(arrays or {"none/0": np.zeros(0, np.float32)}))


def read_weights(path: Path) -> Stored:
    """What :func:`write_weights` wrote."""
    layers: dict[str, list[Any]] = {}
    arrays = read_arrays(path)
    for name in sorted(arrays, key=_layer_and_number):
        layers.setdefault(name.rpartition("/")[0], []).append(arrays[name])
    return layers


def _layer_and_number(name: str) -> tuple[str, int]:
    layer, _, number = name.rpartition("/")
    return layer, int(number)
