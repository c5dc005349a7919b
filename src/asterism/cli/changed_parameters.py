"""Which parameters of ``params.yaml`` are not those of the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import parse_yaml, read_yaml


def changed_parameters(root: Path) -> list[str]:
    """Names of the parameters whose values differ from the commit's; none where there is none.

    Args:
        root: the project.
    """
    from asterism.sweep.workspace import git  # not needed by commands that run nothing

    try:
        if not git(root, "status", "--porcelain", "--", "params.yaml"):
            return []
        committed = git(root, "show", "HEAD:params.yaml")
        before = dict(_leaves(parse_yaml(committed, "params.yaml of HEAD")))
        after = dict(_leaves(read_yaml(root / "params.yaml")))
    except UserError:
        return []
    return [name for name in before | after if before.get(name) != after.get(name)]


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no mapping, by the path of its keys, ``abstraction.k``."""
    for key, value in tree.items() if isinstance(tree, dict) else ():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
