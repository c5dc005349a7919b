"""Models as files, to be run as they are: free sizes are given one, and inputs are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.core.randomness.random_streams import stream
from asterism.libraries.running.inputs import BATCH
from asterism.models.classifiers.onnx_files import read_onnx

if TYPE_CHECKING:
    import onnx

#: A bound of integers where nothing in the model tells one.
_INTEGER_BOUND = 10

#: Inputs that can be drawn, and the number that special ones hold.
DISTRIBUTIONS = ("normal", "wide", "nan", "infinity")
_SPECIAL = {"nan": np.nan, "infinity": np.inf}


@dataclass(frozen=True)
class InputSpec:
    """An input of a model.

    Args:
        name: in the file.
        shape: with the batch; every size is known.
        dtype: NumPy's name of it.
        bound: integers are drawn below it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bound: int = _INTEGER_BOUND


@dataclass(frozen=True)
class Subject:
    """A model under test.

    Args:
        name: for the page.
        model: ``onnx.ModelProto``; free sizes are left as they are.
        inputs: in the model's order.
    """

    name: str
    model: onnx.ModelProto
    inputs: tuple[InputSpec, ...]

    @property
    def content(self) -> bytes:
        """The file."""
        return bytes(self.model.SerializeToString(deterministic=True))

    @property
    def nodes(self) -> Sequence[onnx.NodeProto]:
        """Its nodes, in an order in which they can run."""
        return list(self.model.graph.node)

    @property
    def outputs(self) -> list[str]:
        """Names of its outputs."""
        return [value.name for value in self.model.graph.output]

    def draw(self, seed: int, distribution: str) -> list[NDArray[Any]]:
        """A batch for each input.

        Args:
            seed: of the run.
            distribution: one of :data:`DISTRIBUTIONS`; ``wide`` is uniform in [-10, 10], ``nan``
                and ``infinity`` are normal with one such number in each item.
        """
        arrays: list[NDArray[Any]] = []
        for spec in self.inputs:
            rng = stream(seed, "given file", self.name, spec.name, distribution)
            kind = np.dtype(spec.dtype)
            if kind.kind == "b":
                arrays.append(rng.integers(0, 2, spec.shape).astype(kind))
            elif kind.kind in "iu":
                arrays.append(rng.integers(0, spec.bound, spec.shape).astype(kind))
            elif distribution == "wide":
                arrays.append(rng.uniform(-10, 10, spec.shape).astype(kind))
            else:
                values = rng.normal(size=spec.shape)
                if distribution in _SPECIAL and values.size:
                    items = values.reshape(len(values) if values.ndim > 1 else 1, -1)
                    items[:, int(rng.integers(items.shape[1]))] = _SPECIAL[distribution]
                arrays.append(values.astype(kind))
        return arrays


def subject_of(
    name: str, model: onnx.ModelProto, size: int, shapes: Mapping[str, Sequence[int]]
) -> Subject:
    """A model with sizes for its inputs.

    Args:
        name: of the subject.
        model: what to run.
        size: stands for every free size but the first axis', which is the batch.
        shapes: of inputs by name, with the batch, in place of what the model says.

    Raises:
        UserError: an input is no tensor of numbers, has an unknown rank, or a shape does not fit.
    """
    constants = {constant.name for constant in model.graph.initializer}
    values = [value for value in model.graph.input if value.name not in constants]
    for given in set(shapes) - {value.name for value in values}:
        known = ", ".join(value.name for value in values)
        raise UserError(f"{name} has no input {given!r} (it has: {known})")
    specs = [_spec(model, value, size, shapes.get(value.name), name) for value in values]
    return Subject(name, model, tuple(specs))


def read_subject(path: Path, size: int, shapes: Mapping[str, Sequence[int]]) -> Subject:
    """A user's model file, see :func:`subject_of`.

    Raises:
        UserError: it is no ONNX file, or cannot be read within the limits.
    """
    if path.suffix != ".onnx":
        raise UserError(f"{path} is no .onnx file: export the model to ONNX first")
    return subject_of(path.stem, read_onnx(path), size, shapes)


def read_subjects(
    paths: Sequence[Path], size: int, shapes: Mapping[str, Sequence[int]]
) -> list[Subject]:
    """A user's model files, see :func:`read_subject`.

    Args:
        paths: of the files.
        size: stands for free sizes.
        shapes: of inputs, by ``NAME`` in every model that has such an input, or by ``MODEL/NAME``.

    Raises:
        UserError: two models have one name, or a shape is of no input.
    """
    found: list[Subject] = []
    used: set[str] = set()
    for path in paths:
        if path.stem in (subject.name for subject in found):
            raise UserError(f"two models are called {path.stem}: rename one of the files")
        subject = read_subject(path, size, {})
        given: dict[str, Sequence[int]] = {}
        for spec in subject.inputs:
            key = next((k for k in (f"{path.stem}/{spec.name}", spec.name) if k in shapes), None)
            if key is not None:
                given[spec.name] = shapes[key]
                used.add(key)
        found.append(read_subject(path, size, given) if given else subject)
    for name in shapes.keys() - used:
        known = ", ".join(spec.name for subject in found for spec in subject.inputs)
        raise UserError(f"no model has an input {name!r} (there are: {known})")
    return found


def given_inputs(
    subject: Subject,
    own: Sequence[Path],
    batch: Path | None,
    distributions: Iterable[str],
    seed: int,
) -> dict[str, list[NDArray[Any]]]:
    """What a model is run with, by the name of the inputs: the user's batch, or what is drawn.

    Args:
        subject: the model.
        own: the user's model files; other models have no batch of the user's.
        batch: an ``.npz``, or None for none.
        distributions: to be drawn.
        seed: of the run.
    """
    if batch is not None and subject.name in {path.stem for path in own}:
        return {batch.stem: read_inputs(batch, subject)}
    return {name: subject.draw(seed, name) for name in distributions}


def read_inputs(path: Path, subject: Subject) -> list[NDArray[Any]]:
    """A user's own batch for a model: the arrays of an ``.npz`` by the names of its inputs.

    Raises:
        UserError: an array is missing, or has another type or rank than the model's input.
    """
    arrays = read_arrays(path)
    found = []
    for spec in subject.inputs:
        if spec.name not in arrays:
            raise UserError(f"{path} has no array {spec.name!r} (it has: {', '.join(arrays)})")
        array = arrays[spec.name]
        if str(array.dtype) != spec.dtype or array.ndim != len(spec.shape):
            raise UserError(
                f"{path}: {spec.name} is {array.dtype} of rank {array.ndim}, and {subject.name} "
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


def _spec(
    model: onnx.ModelProto, value: Any, size: int, shape: Sequence[int] | None, name: str
) -> InputSpec:
    from onnx import helper

    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise UserError(f"{name}: the input {value.name!r} is no tensor of a known rank")
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if dtype.kind not in "fiub":
        raise UserError(f"{name}: the input {value.name!r} is of the type {dtype}, no numbers")
    stated = [max(d.dim_value, 0) for d in tensor.shape.dim]  # some write -1 for a free size
    if shape is None:
        shape = [s or (size if at else BATCH) for at, s in enumerate(stated)]
    elif len(shape) != len(stated) or any(s and s != g for s, g in zip(stated, shape, strict=True)):
        wanted = ",".join(str(s or "?") for s in stated)
        raise UserError(f"{name}: the input {value.name!r} has the shape {wanted}")
    return InputSpec(value.name, tuple(shape), str(dtype), _bound(model, value.name))


def _bound(model: onnx.ModelProto, name: str) -> int:
    """How many rows the smallest table has that an input looks up."""
    sizes = {constant.name: constant.dims for constant in model.graph.initializer}
    same = {name}
    bounds = []
    for node in model.graph.node:
        if node.op_type in ("Cast", "Identity", "Reshape", "Unsqueeze") and node.input[0] in same:
            same |= set(node.output)
        elif node.op_type == "Gather" and node.input[1] in same and sizes.get(node.input[0]):
            bounds.append(int(sizes[node.input[0]][0]))
    return min(bounds, default=_INTEGER_BOUND)
