"""A project's YAML files as DVC reads them, which has a parser of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.errors import errors_of_dvc


def read_as_dvc(path: Path) -> dict[str, Any]:
    """What DVC takes from a YAML file.

    Raises:
        UserError: DVC cannot read it, or it holds no mapping.
    """
    from dvc.utils.serialize import load_yaml

    try:
        with errors_of_dvc(f"DVC cannot read {path.name}"):
            return dict(load_yaml(str(path)))
    except (RecursionError, TypeError, ValueError) as error:
        raise UserError(f"DVC cannot read {path.name}: {error}") from None
