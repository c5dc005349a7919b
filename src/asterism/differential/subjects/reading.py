"""Reading a user's model files and batches."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError, extract_reason
from asterism.differential.subjects import SUBJECTS, ModelFile


def read_subjects(
    paths: Sequence[Path],
    size: int,
    shapes: Mapping[str, Sequence[int]],
    rejected: NotCompared,
) -> list[ModelFile]:
    """A user's model files.

    Args:
        paths: the paths of the files.
        size: stands for free sizes.
        shapes: of inputs, by ``NAME`` in every model that has such an input, or by ``MODEL/NAME``.
        rejected: where files that cannot be read are noted.

    Raises:
        UserError: two models have one name, a shape is of no input, or no file can be read.
    """
    found: list[ModelFile] = []
    used: set[str] = set()
    for path in paths:
        if path.stem in (subject.name for subject in found):
            raise UserError(f"two models are called {path.stem}: rename one of the files")
        with note_failure(path.stem, rejected):
            if path.suffix not in SUBJECTS:
                known = " or ".join(SUBJECTS.names())
                raise UserError(f"{path} is no {known} file: export the model to one")
            read = SUBJECTS[path.suffix]
            subject = read(path, size, {})
            given: dict[str, Sequence[int]] = {}
            for spec in subject.inputs:
                keys = (f"{path.stem}/{spec.label}", spec.label)
                key = next((k for k in keys if k in shapes), None)
                if key is not None:
                    given[spec.label] = shapes[key]
                    used.add(key)
            found.append(read(path, size, given) if given else subject)
    require_any_compared(found, rejected)
    for name in shapes.keys() - used if not rejected else ():
        known = ", ".join(spec.label for subject in found for spec in subject.inputs)
        raise UserError(f"no model has an input {name!r} (there are: {known})")
    return found


def read_inputs(path: Path, subject: ModelFile) -> list[NDArray[Any]]:
    """A user's own batch for a model: the arrays of an ``.npz`` by the names of its inputs.

    Raises:
        UserError: an array is missing, or has another type or rank than the model's input.
    """
    arrays = read_arrays(path)
    found = []
    for spec in subject.inputs:
        if spec.label not in arrays:
            raise UserError(f"{path} has no array {spec.label!r} (it has: {', '.join(arrays)})")
        array = arrays[spec.label]
        if str(array.dtype) != spec.dtype or array.ndim != len(spec.shape):
            raise UserError(
                f"{path}: {spec.label} is {array.dtype} of rank {array.ndim}, and {subject.name} "
                f"takes {spec.dtype} of rank {len(spec.shape)}"
            )
        found.append(array)
    return found


def parse_shapes(given: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """``NAME=2,16,4``, as often as given, as shapes by name.

    Raises:
        UserError: one is written otherwise.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, sizes = text.rpartition("=")
        try:
            shapes[name] = tuple(int(size) for size in sizes.split(","))
        except ValueError:
            equals = ""
        if not equals or min(shapes.get(name, (0,))) < 1:
            raise UserError(f"the shape {text!r} should be like NAME=2,16,4, with the batch first")
    return shapes


#: What was not compared, and why.
NotCompared = list[tuple[str, str]]


@contextmanager
def note_failure(name: str, rejected: NotCompared) -> Iterator[None]:
    """Note why the block ended early, and go on after it.

    Args:
        name: what the block is about.
        rejected: where the reason is noted.
    """
    try:
        yield
    except UserError as error:
        rejected.append((name, str(error)))
    except Exception as error:  # whatever one strange model brings about
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {extract_reason(str(error))}"
        where = f"{Path(place.filename).name}:{place.lineno}"
        rejected.append((name, f"Asterism failed at it: {said} ({where})"))


def require_any_compared(compared: Sequence[object], rejected: NotCompared) -> None:
    """End with the reasons where nothing was left to compare.

    Raises:
        UserError: nothing was.
    """
    if rejected and not compared:
        alone = len(rejected) == 1
        raise UserError("; ".join(why if alone else f"{name}: {why}" for name, why in rejected))
