"""The state of one stage's run, found by what ``dvc.yaml`` says that the stage depends on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.resuming.checkpoints import dependency_key
from asterism.core.resuming.state import Run
from asterism.core.resuming.work_units import SharedWorkUnits, UnitShare
from asterism.core.settings.yaml_files import read_yaml

#: The stages, and what each depends on.
PIPELINE = Path("dvc.yaml")

#: Versions of the libraries that are installed.
LOCK = Path("requirements.lock")

#: What stands for the variant in ``dvc.yaml``.
_VARIANT = re.compile(r"\$\{(key|item\.\w+)\}")


#: The part that this process computes of a stage; None where it is the stage.
part: ContextVar[UnitShare | None] = ContextVar("part", default=None)


def work_units(
    name: str, params: ParameterSection, inputs: Iterable[Path], variant: str | None = None
) -> SharedWorkUnits:
    """The units of a stage's run, for its process and for those of its parts.

    Their key covers the parameters, the content of ``inputs``, the versions of all libraries and
    the code that the stage depends on by ``dvc.yaml``, most of which other processes may load. So
    another version never continues this one's work.

    Raises:
        UserError: ``dvc.yaml`` has no such stage.
    """
    label = name if variant is None else f"{name}-{variant}"
    key = _key(label, name, params.model_dump(mode="json"), inputs)
    address = name if variant is None else f"{name}@{variant}"
    return SharedWorkUnits(label, key, part.get(), address, outputs_of(name, variant))


def run_of(name: str, facts: Any, inputs: Iterable[Path]) -> Run:
    """The state of a stage that is not cut into units, by what its content depends on.

    Args:
        name: of the stage, whose code counts as for :func:`work_units`.
        facts: what else the content depends on, as JSON-compatible values.
        inputs: files and folders whose content counts.

    Raises:
        UserError: ``dvc.yaml`` has no such stage.
    """
    return Run(name, _key(name, name, facts, inputs)[:32])


def outputs_of(name: str, variant: str | None = None) -> list[Path]:
    """What a stage writes, as ``dvc.yaml`` lists it; a variant has outputs of its own."""
    definition = _definition(name)
    listed = [out for kind in ("outs", "metrics", "plots") for out in definition.get(kind, [])]
    paths = [out if isinstance(out, str) else next(iter(out)) for out in listed]
    return [Path(_VARIANT.sub(variant or "", path)) for path in paths]


def _key(label: str, name: str, facts: Any, inputs: Iterable[Path]) -> str:
    """Hash of facts, inputs, the versions of all libraries and the stage's code."""
    return dependency_key(label, facts, [*inputs, *_code_of(_definition(name)), LOCK])


def _code_of(definition: dict[str, Any]) -> list[Path]:
    """A stage's script and packages, as ``dvc.yaml`` lists them."""
    dependencies = definition["deps"]
    return [Path(path) for path in dependencies if path.startswith(("src/", "stages/"))]


def _definition(name: str) -> dict[str, Any]:
    """A stage's entry in ``dvc.yaml``."""
    stages = read_yaml(PIPELINE)["stages"]
    if name not in stages:
        raise UserError(f"{PIPELINE} has no stage {name}, so nobody knows on what code it depends")
    definition: dict[str, Any] = stages[name]
    return dict(definition.get("do", definition))  # ``do``: below a ``foreach``
