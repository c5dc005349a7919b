"""The stage of reduction: seed models in, reduced ones, their weights and a table out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asterism.core.files.artifacts import read_json
from asterism.core.files.folders import list_plain_files
from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduce import (
    KEPT,
    count_multiplications,
    narrow_layers,
    reduce_model,
    renumber_nodes,
)
from asterism.differential.reducing.seed_models import make_seed_model
from asterism.memo.graphs.coverage import covered_elements
from asterism.memo.graphs.graph import Graph, Node
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.keras_read import (
    InputSizes,
    Shapes,
    read_json_graph,
    read_keras_graph,
)
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.graphs.weights import Arrays
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class Reduction:
    """Reduced models, the arrays that they name, and what was reduced.

    ``rows`` has one row for each model: layers, multiplications of one inference, weights and
    coverage before and after; ``seconds`` the times of one inference, which are no tracked result.
    """

    models: dict[str, Graph]
    weights: Arrays
    rows: list[dict[str, Any]]
    seconds: list[dict[str, Any]]


def reduce_models(params: ReduceParams, seed: int) -> Reduction:
    """Make or load each seed model and reduce it, if asked for; listed ones are narrowed, too.

    Raises:
        UserError: a model cannot be read, has what the universe does not declare, or is called
            like a listed one.
    """
    own = find_user_models(params)
    # NumPy's backend is there in a third of the time, but its own times tell nothing.
    keras = import_keras("tensorflow" if params.timing_runs else "numpy")
    result = Reduction({}, {}, [], [])
    for name in progress([*params.models, *own], label="reduce", unit="model"):
        if name in own:
            model, original, arrays = read_user_model(*own[name], params.open_size, seed)
        else:
            model = make_seed_model(name, seed)
            original, arrays = read_keras_graph(model, params.open_size, seed)
        width = None if name in own else params.max_width
        kept = reduce_model(original) if params.reduced else original
        reduced = renumber_nodes(narrow_layers(kept, width))
        named = {f"{name}/{key}": value for key, value in arrays.items()}
        reduced = Graph({i: _named(n, name) for i, n in reduced.nodes.items()})
        used = {n.weights for n in reduced.nodes.values()}
        result.models[name] = reduced
        result.weights.update({k: v for k, v in named.items() if k in used})
        smaller = build_model(reduced, named)
        result.rows.append(_row(name, original, reduced, model, smaller))
        if params.timing_runs:
            sizes = InputSizes(params.open_size, own[name][1] if name in own else {})
            before, after = (_inference(m, sizes, params.timing_runs) for m in (model, smaller))
            result.seconds.append({"model": name, "before": before, "after": after})
        keras.backend.clear_session()
    return result


def read_user_model(
    path: Path, shapes: Shapes, open_size: int, seed: int
) -> tuple[keras.Model, Graph, Arrays]:
    """A model file of the user's; an architecture without weights gets drawn ones.

    Raises:
        UserError: an architecture with weights beside it, or a file that cannot be read.
    """
    if path.suffix == ".json":
        if (weights := path.with_suffix(".h5")).exists():
            raise UserError(
                f"reduce.user_model is {path}, and no stage would know of changes of {weights}: "
                "save both as one .keras or .h5 file, or move the weights away"
            )
        with name_file_in_errors(path):
            graph = read_json_graph(read_json(path), open_size, seed, shapes)
        return build_model(graph), graph, {}
    model = load_keras(path)
    with name_file_in_errors(path):
        return model, *read_keras_graph(model, open_size, seed, shapes)


def _named(node: Node, model: str) -> Node:
    return node if node.weights is None else replace(node, weights=f"{model}/{node.weights}")


def _row(
    name: str, before: Graph, after: Graph, model: keras.Model, smaller: keras.Model
) -> dict[str, Any]:
    first, second = covered_elements(before).counted, covered_elements(after).counted
    row = {
        "model": name,
        "layers": len(before.layers),
        "layers_reduced": len(after.layers),
        "multiplications": count_multiplications(before),
        "multiplications_reduced": count_multiplications(after),
        "weights": model.count_params(),
        "weights_reduced": smaller.count_params(),
    }
    for kind in KEPT:
        row |= {kind: len(first[kind]), f"{kind}_kept": len(first[kind] & second[kind])}
    return row


def _inference(model: keras.Model, sizes: InputSizes, runs: int) -> float:
    """Seconds of one inference on a batch of one, the best of several."""
    shapes = [sizes.of(i.name, i.shape[1:]) for i in model.inputs]
    inputs = [np.zeros((1, *s), i.dtype) for s, i in zip(shapes, model.inputs, strict=True)]
    given = inputs if len(inputs) > 1 else inputs[0]
    model(given, training=False)
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        model(given, training=False)
        times.append(time.perf_counter() - started)
    return min(times)


#: Suffixes of the files that are read; ``.json`` is an architecture without weights.
_SUFFIXES = (*KERAS_SUFFIXES, ".json")


def find_user_models(params: ReduceParams) -> dict[str, tuple[Path, Shapes]]:
    """The user's models by the files' names without suffix: each file, and shapes of its inputs.

    There are none where the parameter names no file.

    Raises:
        UserError: two seed models have one name, or a folder holds no model.
    """
    if params.user_model == NO_FILE:
        return {}
    given = Path(params.user_model)
    paths = [given]
    if given.is_dir():
        paths = [path for path in list_plain_files(given, below=False) if path.suffix in _SUFFIXES]
        if not paths:
            raise UserError(
                f"reduce.user_model is the folder {given}, which holds no model "
                f"({', '.join(_SUFFIXES)})"
            )
    times = Counter((*params.models, *(path.stem for path in paths)))
    for path in paths:
        if path.stem in params.models:
            raise UserError(
                f"the seed model {path} has the name of a listed one, {path.stem}: rename the "
                "file, or take that name out of reduce.models"
            )
        if times[path.stem] > 1:
            raise UserError(f"two files of {given} are called {path.stem}: rename one of them")
    shapes = _shapes_of(paths, params)
    return {path.stem: (path, one) for path, one in zip(paths, shapes, strict=True)}


def _shapes_of(paths: Sequence[Path], params: ReduceParams) -> Iterator[Shapes]:
    """What is given for each model: a shape for all its inputs, or shapes by their names.

    Raises:
        UserError: a shape is given for a model that there is not.
    """
    shapes = params.user_input_shape or {}
    if not isinstance(shapes, dict):
        yield from (shapes for _ in paths)
        return
    known = [path.stem for path in paths]
    for name in shapes.keys() - set(known):
        raise UserError(
            f"reduce.user_input_shape has a shape for {name!r}, which is no model of yours "
            f"({', '.join(known)})"
        )
    yield from (shapes.get(name, {}) for name in known)
