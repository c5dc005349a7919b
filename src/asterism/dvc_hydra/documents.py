"""YAML as DVC reads and writes it, by the parser that it uses."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from asterism.core.files.limits import read_within
from asterism.core.messages.errors import UserError, reading


def read_as_dvc(path: Path) -> dict[str, Any]:
    """What DVC takes from a YAML file.

    Raises:
        UserError: DVC cannot read it, or it holds no mapping.
    """
    with reading(str(path)):
        text = read_within(path, "limits.text_mb").decode("utf-8")
    return parse_as_dvc(text, path.name)


def parse_as_dvc(text: str, source: str) -> dict[str, Any]:
    """The same of a text.

    Args:
        text: YAML.
        source: where it is from, for messages.
    """
    try:
        return dict(YAML(typ="safe").load(text) or {})
    except (YAMLError, RecursionError, TypeError, ValueError) as error:
        raise UserError(f"DVC cannot read {source}: {' '.join(str(error).split())}") from None


def dump_as_dvc(document: dict[str, Any]) -> str:
    """The text that DVC writes of a document, as into ``dvc.lock``."""
    yaml, stream = YAML(), io.StringIO()
    yaml.default_flow_style = False
    yaml.dump(document, stream)
    return stream.getvalue()
