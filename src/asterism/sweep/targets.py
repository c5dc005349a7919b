"""Names of stages that a user gives, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.dvc_hydra.pipeline_file import stage_names_under


def check_targets(root: Path, targets: Sequence[str], compositions: Sequence[str]) -> None:
    """Find the targets of runs among the stages that ``dvc.yaml`` has under their parameters.

    Args:
        root: the workspace.
        targets: ``"fuzz"`` stands for all its variants, ``"fuzz@state"`` for one.
        compositions: each run's ``params.yaml``, which says which variants there are.

    Raises:
        UserError: there is no such stage.
    """
    if not targets:
        return
    for parameters in compositions:
        _find_targets(targets, stage_names_under(root, parameters))


def _find_targets(targets: Sequence[str], names: Sequence[str]) -> None:
    groups = {name.partition("@")[0] for name in names}
    for target in targets:
        if target not in names and target not in groups:
            raise unknown_stage(target, names)


def unknown_stage(target: str, names: Sequence[str]) -> UserError:
    """The error that says that no stage is called ``target``, and what there is near it.

    Args:
        target: what the user gave.
        names: all stages, each with its variant where it has one.
    """
    group, at, _ = target.partition("@")
    variants = [name for name in names if name.partition("@")[0] == group]
    alike = {name if at else name.partition("@")[0] for name in names if at in name}
    return unknown("stage", target, variants or sorted(alike))
