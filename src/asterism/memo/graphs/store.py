"""Files of models: graphs as JSON, their stored weights as one npz.

Models travel between colleagues as JSON, and scripts that run are made of them. So every key, type
and value is compared with the declared universe first. Values have the declared kind. They may lie
outside the declared range, as those of published models do.
"""

from __future__ import annotations

import re
import reprlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.memo.graphs.graph import INPUT, Graph, Node, WeightEdit, output_of
from asterism.memo.graphs.weights import WEIGHT_EDITS, Arrays, Stored
from asterism.memo.universe.layers import MAX_RANK, universe
from asterism.memo.universe.parameters import are_whole, is_whole
from asterism.memo.universe.tensors import (
    FLOATS,
    INTEGER,
    Config,
    InvalidLayerError,
    Tensor,
    require_valid,
)

#: Elements of one item of an input. To draw a batch of two then takes a gigabyte.
LARGEST_INPUT = 2**26

#: Bits of a seed; the seed of a run may have many digits.
_SEED_BITS = 256
#: Characters of a name of stored weights: of a model and its nested layers.
_LONGEST_NAME = 4096

_NEEDED = frozenset({"id", "type", "config", "inputs", "seed"})
_OPTIONAL = frozenset({"weights", "edits", "repair"})
_OF_INPUTS = frozenset({"shape", "dtype", "bound"})


def graph_from_json(value: Any) -> Graph:
    """The graph that a JSON value describes.

    Args:
        value: what :meth:`~asterism.memo.graphs.graph.Graph.to_json` gives.

    Raises:
        UserError: a key, a type or a value is not declared, or a layer does not fit its inputs.
    """
    listed = value["nodes"] if isinstance(value, dict) and value.keys() == {"nodes"} else None
    if not isinstance(listed, list):
        raise UserError("a graph is a list of nodes and nothing else")
    nodes: dict[int, Node] = {}
    tensors: dict[int, Tensor] = {}
    for number, given in enumerate(listed):
        try:
            identity, node = _identified(given, nodes)
            tensors[identity] = output_of(node, [tensors[i] for i in node.inputs])
            nodes[identity] = node
        except InvalidLayerError as error:
            raise UserError(f"{_called(number, given)}: {error}") from None
        except KeyError as missing:  # what a shape rule asks a configuration for
            raise UserError(f"{_called(number, given)}: it has no {missing}") from None
        except (TypeError, ValueError, IndexError, ArithmeticError) as error:
            raise UserError(f"{_called(number, given)} fits no input: {error}") from None
    graph = Graph(nodes, tensors)
    if not graph.inputs or not graph.layers:
        raise UserError("a graph has at least an input and a layer")
    return graph


def _called(number: int, given: Any) -> str:
    """A node as an error names it."""
    kind = given.get("type") if isinstance(given, dict) else given
    return f"node {number}, {reprlib.repr(kind)}"


def _identified(given: Any, before: Mapping[int, Node]) -> tuple[int, Node]:
    """A node and its identity; it may read those that stand before it."""
    require_valid(isinstance(given, dict), "a node is a mapping")
    for key in sorted(map(str, _NEEDED - given.keys())):
        raise InvalidLayerError(f"it has no {key!r}")
    for key in sorted(map(str, given.keys() - _NEEDED - _OPTIONAL)):
        raise InvalidLayerError(f"no node has the key {reprlib.repr(key)}")
    identity, kind, config, inputs = (given[k] for k in ("id", "type", "config", "inputs"))
    require_valid(
        is_whole(identity, 0) and identity not in before,
        "its id is no number, or another node has it",
    )
    require_valid(isinstance(kind, str), "its type is no name")
    require_valid(isinstance(config, dict), "its config is no mapping")
    require_valid(are_whole(inputs, 0), "its inputs are no list of ids")
    require_valid(all(i in before for i in inputs), "it reads a node that does not stand before it")
    if kind == INPUT:
        require_valid(not inputs, "an input reads nothing")
        _check_input(config)
    elif kind in universe():
        universe()[kind].check(config)
    else:
        raise InvalidLayerError("the universe declares no such layer")
    weights = given.get("weights")
    named = "weights" not in given or (isinstance(weights, str) and len(weights) <= _LONGEST_NAME)
    require_valid(named, "its weights are no name")
    repair = given.get("repair", False)
    require_valid(isinstance(repair, bool), "its repair is neither true nor false")
    edits = _edits(given.get("edits", []))
    return identity, Node(kind, config, tuple(inputs), _seed(given["seed"]), weights, edits, repair)


def _check_input(config: Config) -> None:
    for key in sorted(map(str, config.keys() - _OF_INPUTS)):
        raise InvalidLayerError(f"an input has no {reprlib.repr(key)}")
    shape, dtype = config["shape"], config["dtype"]
    require_valid(are_whole(shape, 1) and len(shape) < MAX_RANK, "its shape is no list of sizes")
    require_valid(prod(shape) <= LARGEST_INPUT, f"it has more than {LARGEST_INPUT:,} elements")
    require_valid(dtype in (*FLOATS, INTEGER), "its dtype is none that a layer takes")
    require_valid(is_whole(config.get("bound", 1), 1), "its bound is no number")


def _edits(given: Any) -> tuple[WeightEdit, ...]:
    require_valid(isinstance(given, list), "its edits are no list")
    edits = []
    for edit in given:
        pair = isinstance(edit, list) and len(edit) == 2 and isinstance(edit[0], str)
        require_valid(
            pair and edit[0] in WEIGHT_EDITS, f"{reprlib.repr(edit)} is no edit of weights"
        )
        edits.append(WeightEdit(edit[0], _seed(edit[1])))
    return tuple(edits)


def _seed(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    require_valid(whole and 0 <= value < 1 << _SEED_BITS, "its seed is no number from 0 on")
    seed: int = value
    return seed


#: A layer's name, the number of an array there, and its variable's name.
_KEY = re.compile(r".+/[0-9]{1,9}/[^/]+", re.DOTALL)


def write_models(folder: Path, models: dict[str, Graph]) -> None:
    """Write ``models.json``: graphs by name, in order."""
    listed = [{"name": name, **graph.to_json()} for name, graph in models.items()]
    write_json(folder / "models.json", listed)


def read_models(folder: Path) -> dict[str, Graph]:
    """The graphs that :func:`write_models` wrote.

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
    """Write arrays of layers that were read; without any, one empty array.

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
    """The arrays that :func:`write_weights` wrote.

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
