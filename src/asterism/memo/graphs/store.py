"""Files of models: graphs as JSON, their stored weights as one npz."""

from __future__ import annotations

import re
import reprlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.graph_json import graph_from_json
from asterism.memo.graphs.weights import Arrays, Stored

#: A layer's name, the number of an array there, and its variable's name.
_KEY = re.compile(r".+/[0-9]{1,9}/[^/]+", re.DOTALL)


def write_models(folder: Path, models: dict[str, Graph]) -> None:
    """``models.json``: graphs by name, in order."""
    listed = [{"name": name, **graph.to_json()} for name, graph in models.items()]
    write_json(folder / "models.json", listed)


def read_models(folder: Path) -> dict[str, Graph]:
    """What :func:`write_models` wrote.

    Raises:
        UserError: the file is no list of models with a name each, or a model is none that the
            universe declares.
    """
    path = folder / "models.json"
    listed: Any = read_json(path)
    if not isinstance(listed, list):
        raise UserError(f"{path} holds no list of models")
    models: dict[str, Graph] = {}
    for number, model in enumerate(listed):
        name = model.get("name") if isinstance(model, dict) else None
        if not isinstance(name, str) or name in models:
            raise UserError(f"{path}: model {number} has no name of its own")
        with prefix_errors(f"{path}: the model {reprlib.repr(name)}"):
            models[name] = graph_from_json({k: v for k, v in model.items() if k != "name"})
    return models


def read_graph(path: Path) -> Graph:
    """One graph from a file of its own.

    Raises:
        UserError: it is no graph that the universe declares.
    """
    with prefix_errors(str(path)):
        return graph_from_json(read_json(path))


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


@contextmanager
def weights_file(layers: Arrays) -> Iterator[Path]:
    """A file of arrays with a name of its own, for one run: a worker reads a file once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.npz"
        write_weights(path, layers)
        yield path


def read_weights(path: Path) -> Stored:
    """What :func:`write_weights` wrote.

    Raises:
        UserError: an array has another name than those have, or no float32 numbers.
    """
    layers: Arrays = {}
    arrays = read_arrays(path)
    for key, array in arrays.items():
        if _KEY.fullmatch(key) is None or array.dtype != np.float32:
            raise UserError(
                f"{path}: the array {reprlib.repr(key)} is no weight of a layer: such have names "
                f"as layer/0/kernel and float32 numbers, and these are of {array.dtype}"
            )
    for key, array in sorted(arrays.items(), key=lambda item: _parts(item[0])):
        layer, _, variable = _parts(key)
        layers.setdefault(layer, []).append((variable, array))
    return layers


def _parts(key: str) -> tuple[str, int, str]:
    """Layer, number and variable of a key; a layer's name may have slashes of its own."""
    layer, number, variable = key.rsplit("/", 2)
    return layer, int(number), variable
