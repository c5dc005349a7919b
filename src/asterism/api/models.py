"""Models in whatever form a caller has them, each as a subject of vetting."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import digest_of_arrays
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.data.given.reading import Arrays
from asterism.models.runtimes.runtime import FunctionRuntime, Runtime, as_array
from asterism.models.signatures.whole_files import whole_file
from asterism.models.tensor_models.subjects import FileSubject, ObjectSubject, Subject

log = get_logger(__name__)


def is_file(model: Any) -> bool:
    """Whether a model is named by its file."""
    return isinstance(model, str | os.PathLike)


def is_program(model: Any) -> bool:
    """Whether a model is an exported program of PyTorch."""
    export = sys.modules.get("torch.export")
    return export is not None and isinstance(model, export.ExportedProgram)


def is_torch_module(model: Any) -> bool:
    """Whether a model is a module of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def as_pair(
    original: Any, compressed: Any, inputs: Path | Arrays, after: ExitStack
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


def as_subject(model: Any, role: str, inputs: Path | Arrays, after: ExitStack) -> Subject:
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
    if isinstance(inputs, Arrays) and inputs.parts and not _takes_several(model):
        raise UserError(
            f"the {role} is no module or program of PyTorch, which alone take several inputs by "
            "name: give a function of one array"
        )
    if is_file(model):
        return FileSubject(after.enter_context(whole_file(Path(model))))
    if not isinstance(inputs, Arrays):
        raise UserError(f"the {role} is an object in memory, so inputs are arrays in memory too")
    name = _name_of(model, role)
    for open_object in (_keras, _torch_program, _torch_module, _function):
        opened = open_object(model, name, inputs, after)
        if opened is not None:
            runtime, weights = opened
            return ObjectSubject(name, runtime, *_told(weights))
    raise UserError(
        f"the {role} is no model but of the type {type(model).__name__}: give a file, a module or "
        "an exported program of PyTorch, a model of Keras, or a function of an array"
    )


#: An open model, and the arrays of its weights.
_Opened = tuple[Runtime, list[Any]] | None


def _takes_several(model: Any) -> bool:
    return is_program(model) or is_torch_module(model)


def _keras(model: Any, name: str, inputs: Arrays, after: ExitStack) -> _Opened:
    keras = sys.modules.get("keras")
    if keras is None or not isinstance(model, keras.Model):
        return None
    from asterism.models.runtimes.formats.keras import KerasRuntime
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


def _torch_program(model: Any, name: str, inputs: Arrays, after: ExitStack) -> _Opened:
    if not is_program(model):
        return None
    from asterism.models.runtimes.formats.torch_export import TorchRuntime
    from asterism.models.runtimes.torch_modules import ModuleRuntime
    from asterism.models.signatures.torch import signature_of_graph, weights_of

    module = model.module()
    if inputs.parts:
        return ModuleRuntime(module, name, inputs.items, inputs.parts), weights_of(model.state_dict)
    weights = weights_of(model.state_dict)
    device = str(weights[0].device) if weights else "cpu"
    return TorchRuntime(module, signature_of_graph(module.graph), device), weights


def _torch_module(model: Any, name: str, inputs: Arrays, after: ExitStack) -> _Opened:
    if not is_torch_module(model):
        return None
    from asterism.models.runtimes.torch_modules import ModuleRuntime, evaluating
    from asterism.models.signatures.torch import state_of, weights_of

    if after.enter_context(evaluating(model)):
        log.info("set from training to evaluation as long as it is asked", model=name)
    runtime = ModuleRuntime(model, name, inputs.items, inputs.parts)
    return runtime, weights_of(state_of(model))


def _function(model: Any, name: str, inputs: Arrays, after: ExitStack) -> _Opened:
    if not callable(model):
        return None
    return FunctionRuntime(model, name, inputs.items), []


def _told(weights: list[Any]) -> tuple[int | None, str | None]:
    """Bytes and SHA-256 of all weights; None for both where there are none."""
    if not weights:
        return None, None
    size = sum(weight.nbytes for weight in weights)
    return size, digest_of_arrays(map(as_array, weights))


def _name_of(model: Any, role: str) -> str:
    """What reports call an object: the name that it has, or its role."""
    name = str(getattr(model, "__name__", type(model).__name__))
    return name if name.isidentifier() else role
