"""Models and inputs in whatever form a caller has them.

Models are files, or objects of this process: each becomes a subject of vetting. Inputs are arrays,
tensors, data sets, loaders or files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.hashes import hash_arrays
from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.console import get_logger, progress
from asterism.core.messages.errors import UserError
from asterism.data.classes import as_labels, class_indices, number_classes
from asterism.data.given import ArrayInputs, infer_kind, list_input_files, read_inputs
from asterism.data.kinds import Shaping
from asterism.models.formats import FunctionRuntime, Runtime, as_array
from asterism.models.signatures.reading import whole_file
from asterism.models.tensor_models.subjects import FileSubject, ObjectSubject, Subject

log = get_logger(__name__)


def is_file(given: Any) -> bool:
    """Whether a model, inputs or labels are named by their file."""
    return isinstance(given, str | os.PathLike)


def is_program(model: Any) -> bool:
    """Whether a model is an exported program of PyTorch."""
    export = sys.modules.get("torch.export")
    return export is not None and isinstance(model, export.ExportedProgram)


def is_torch_module(model: Any) -> bool:
    """Whether a model is a module of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def as_subject_pair(
    original: Any, compressed: Any, inputs: Path | ArrayInputs, after: ExitStack
) -> tuple[Subject, Subject]:
    """Both models of a pair as subjects, by different names; see :func:`as_subject`."""
    subjects = (
        as_subject(original, "original", inputs, after),
        as_subject(compressed, "compressed", inputs, after),
    )
    one, other = subjects
    if one.name != other.name:
        return subjects
    if isinstance(one, ObjectSubject):
        one = replace(one, name=f"{one.name}_original")
    if isinstance(other, ObjectSubject):
        other = replace(other, name=f"{other.name}_compressed")
    return one, other


def as_subject(model: Any, role: str, inputs: Path | ArrayInputs, after: ExitStack) -> Subject:
    """A model of any form as a subject.

    Args:
        model: a file; a module or an exported program of PyTorch; a model of Keras; or a function
            of an array.
        role: what it is called where it has no name of its own.
        inputs: arrays, unless the model is a file.
        after: keeps what has to be undone after the model was used.

    Raises:
        UserError: it is something else, or fails on the first input.
    """
    takes_several = is_program(model) or is_torch_module(model)
    if isinstance(inputs, ArrayInputs) and inputs.parts and not takes_several:
        raise UserError(
            f"the {role} is no module or program of PyTorch, which alone take several inputs by "
            "name: give a function of one array"
        )
    if is_file(model):
        return FileSubject(after.enter_context(whole_file(Path(model))))
    if not isinstance(inputs, ArrayInputs):
        raise UserError(f"the {role} is an object in memory, so inputs are arrays in memory too")
    name = _name_of(model, role)
    for open_object in (_keras, _torch_program, _torch_module, _function):
        opened = open_object(model, name, inputs, after)
        if opened is not None:
            runtime, weights = opened
            return ObjectSubject(name, runtime, *_size_and_hash(weights))
    raise UserError(
        f"the {role} is no model but of the type {type(model).__name__}: give a file, a module or "
        "an exported program of PyTorch, a model of Keras, or a function of an array"
    )


#: An open model, and the arrays of its weights.
_Opened = tuple[Runtime, list[Any]] | None


def _keras(model: Any, name: str, inputs: ArrayInputs, after: ExitStack) -> _Opened:
    keras = sys.modules.get("keras")
    if keras is None or not isinstance(model, keras.Model):
        return None
    from asterism.models.formats.keras import KerasRuntime
    from asterism.models.signatures.keras import signature_of_config

    if not getattr(model, "inputs", None):
        raise UserError(f"{name} states no inputs: build it, or give a function that calls it")
    runtime = KerasRuntime(model)
    with suppress(
        NotImplementedError, LookupError, TypeError, ValueError
    ):  # a class of the caller's own
        told = signature_of_config(model.get_config()).outputs
        both = zip(runtime.signature.outputs, told, strict=True)
        outputs = tuple(replace(ours, made_by=theirs.made_by) for ours, theirs in both)
        runtime.signature = replace(runtime.signature, outputs=outputs)
    return runtime, model.get_weights()


def _torch_program(model: Any, name: str, inputs: ArrayInputs, after: ExitStack) -> _Opened:
    if not is_program(model):
        return None
    from asterism.models.formats.torch_export import TorchRuntime
    from asterism.models.signatures.torch import collect_tensors, signature_of_graph
    from asterism.models.torch_modules import ModuleRuntime

    module = model.module()
    if inputs.parts:
        return ModuleRuntime(module, name, inputs.items, inputs.parts), collect_tensors(
            model.state_dict
        )
    weights = collect_tensors(model.state_dict)
    device = str(weights[0].device) if weights else "cpu"
    return TorchRuntime(module, signature_of_graph(module.graph), device), weights


def _torch_module(model: Any, name: str, inputs: ArrayInputs, after: ExitStack) -> _Opened:
    if not is_torch_module(model):
        return None
    from asterism.models.signatures.torch import collect_tensors, state_of
    from asterism.models.torch_modules import ModuleRuntime, evaluation_mode

    if after.enter_context(evaluation_mode(model)):
        log.info("switched from training to evaluation mode until this call ends", model=name)
    runtime = ModuleRuntime(model, name, inputs.items, inputs.parts)
    return runtime, collect_tensors(state_of(model))


def _function(model: Any, name: str, inputs: ArrayInputs, after: ExitStack) -> _Opened:
    if not callable(model):
        return None
    return FunctionRuntime(model, name, inputs.items), []


def _size_and_hash(weights: list[Any]) -> tuple[int | None, str | None]:
    """Bytes and SHA-256 of all weights; None for both where there are none."""
    if not weights:
        return None, None
    size = sum(weight.nbytes for weight in weights)
    return size, hash_arrays(map(as_array, weights))


def _name_of(model: Any, role: str) -> str:
    """What reports call an object: the name that it has, or its role."""
    name = str(getattr(model, "__name__", type(model).__name__))
    return name if name.isidentifier() else role


def as_input_data(inputs: Any, labels: Any = None) -> Path | ArrayInputs:
    """Inputs as vetting takes them: a path as it is, everything else as arrays in memory.

    Args:
        inputs: an array or a tensor ``(N, ...)``; a sequence of such without the first axis; a
            data set of PyTorch, whose items are an input or begin with one and a label; a loader
            of batches of such; a file or a folder; or arrays of real numbers by name, for a module
            of PyTorch that takes several in this order.
        labels: integers or names ``(N,)``; None for those of the data set, or none. With files,
            they are files too, and named where these are read.

    Raises:
        UserError: they are something else, or do not fit together.
    """
    if isinstance(inputs, ArrayInputs):
        return inputs
    if is_file(inputs):
        if labels is not None and not is_file(labels):
            raise UserError("labels of inputs in files are in a file too")
        return Path(inputs)
    if isinstance(inputs, Mapping):
        parts = {name: as_array(part) for name, part in inputs.items()}
        joined = as_input_data(_side_by_side(parts), labels)
        assert isinstance(joined, ArrayInputs)
        return replace(joined, parts=tuple(part.shape[1:] for part in parts.values()))
    items, own = _collected(inputs)
    if items.ndim < 2 or not len(items) or items.dtype.kind not in "fiub":
        raise UserError(
            "inputs must be an array of numbers with at least two axes, the first of which counts "
            f"them; this one has the shape {items.shape} and the type {items.dtype}"
        )
    told = own if labels is None else labels
    if told is None:
        return ArrayInputs(items)
    given = as_array(told)
    if given.shape != (len(items),) or given.dtype.kind not in "iuU":
        raise UserError(
            f"labels must be integers or names, one for each of the {len(items)} inputs; they "
            f"have the shape {given.shape} and the type {given.dtype}"
        )
    if given.dtype.kind == "U":
        return ArrayInputs(items, *number_classes(given.tolist(), "labels"))
    return ArrayInputs(items, as_labels(given, "labels"))


def as_arrays(inputs: Any, labels: Any = None, kind: str | None = None) -> ArrayInputs:
    """Inputs of any form as arrays in memory, in no form of any model's: files are read.

    Args:
        inputs: see :func:`as_input_data`.
        labels: see :func:`as_input_data`; of inputs in files, also integers or names ``(N,)``.
        kind: of inputs in files; None for what the files' names say.

    Raises:
        UserError: they cannot be read, have several sizes, or do not fit together.
    """
    own = labels if is_file(labels) else None
    given = as_input_data(inputs, own if is_file(inputs) else labels)
    if isinstance(given, ArrayInputs):
        return given
    kind = kind or infer_kind(list_input_files(given)) or "tensors"
    read = read_inputs(given, kind, Shaping(), own and Path(own))
    arrays = ArrayInputs(read.items, read.labels, read.classes, read.names, read.notes)
    if labels is None or own is not None:
        return arrays
    labelled = as_arrays(read.items, labels)
    return replace(arrays, labels=labelled.labels, classes=labelled.classes)


def with_classes_of(first: ArrayInputs, other: ArrayInputs) -> ArrayInputs:
    """Other inputs whose labels have the numbers that the names of classes have in the first.

    Raises:
        UserError: they have classes that the first ones have not.
    """
    if other.labels is None or first.labels is None or first.classes == other.classes:
        return other
    if missing := sorted(set(other.classes) - set(first.classes)):
        raise UserError(f"the first inputs have no class {', '.join(missing)}")
    numbers = class_indices(other.classes, first.classes)
    labels = numbers[other.labels] if len(numbers) else other.labels
    return replace(other, labels=labels, classes=first.classes)


def _side_by_side(parts: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Rows that hold the numbers of all arrays."""
    if not parts or any(part.ndim < 1 or part.dtype.kind != "f" for part in parts.values()):
        raise UserError("several inputs must be arrays of real numbers, one row for each item")
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        raise UserError(f"several inputs must have equally many items; these have {counts}")
    return np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1)


def _collected(inputs: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """All items, and labels where the data have some."""
    if hasattr(inputs, "dataset") and hasattr(inputs, "__iter__"):  # a loader: batches
        return _joined(inputs, np.concatenate)
    plain = isinstance(inputs, Sequence) or hasattr(inputs, "shape")
    if hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__") and not plain:
        return _joined((inputs[number] for number in range(len(inputs))), np.stack)
    if isinstance(inputs, Sequence):
        return _together([as_array(item) for item in inputs], np.stack), None
    return as_array(inputs), None


def _together(
    arrays: Sequence[NDArray[Any]], join: Callable[[Sequence[NDArray[Any]]], NDArray[Any]]
) -> NDArray[Any]:
    """All of these arrays in one.

    Raises:
        UserError: their shapes differ.
    """
    try:
        return join(arrays)
    except ValueError:
        shapes = dict.fromkeys(str(array.shape) for array in arrays)
        raise UserError(
            f"the inputs have several shapes, {' and '.join(list(shapes)[:2])}: give inputs of one "
            "shape; labels are an argument of their own"
        ) from None


def _joined(
    parts: Any, join: Callable[[Sequence[NDArray[Any]]], NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Inputs and labels of all parts, which are batches or single items."""
    items, labels, taken = [], [], 0
    for part in progress(parts, label="reading inputs"):
        first, label = _parted(part)
        items.append(as_array(first))
        taken += items[-1].nbytes
        require_size_within_limit(taken, "limits.array_mb", "the inputs take memory")
        if label is not None:
            labels.append(as_array(label))
    if not items:
        raise UserError("there are no inputs")
    whole = len(labels) == len(items)
    return _together(items, join), _together(labels, join) if whole else None


def _parted(part: Any) -> tuple[Any, Any]:
    """The input of a batch or an item, and its label, where that follows."""
    if not isinstance(part, tuple | list):
        return part, None
    if len(part) > 2:
        raise UserError(
            f"each item of the data has {len(part)} parts: give an input and its label, or "
            "wrap the model in a function of one array"
        )
    return part[0], part[1] if len(part) == 2 else None


def in_python(text: str) -> str:
    """A sentence that names ``--kind`` of the command line, with ``kind=`` of a function."""
    return re.sub(r"--([a-z]+)", r"\1=", text.replace("--constant", "--constants"))
