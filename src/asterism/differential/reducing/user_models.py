"""The user's own models as seeds: a file or a folder of files, with shapes for their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from asterism.core.files.folders import files_in
from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.errors import UserError
from asterism.differential.reducing.params import ReduceParams
from asterism.memo.graphs.input_sizes import Shapes
from asterism.models.keras_models.reading import KERAS_SUFFIXES

#: Suffixes of the files that are read; ``.json`` is an architecture without weights.
_SUFFIXES = (*KERAS_SUFFIXES, ".json")


def user_models(params: ReduceParams) -> dict[str, tuple[Path, Shapes]]:
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
        paths = [path for path in files_in(given, below=False) if path.suffix in _SUFFIXES]
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
