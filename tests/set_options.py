"""Options of plug-ins that a table of tests has none for: those of ``params.yaml``."""

from pathlib import Path
from typing import Any

import yaml

_PARAMS = Path(__file__).resolve().parents[1] / "params.yaml"


def section(name: str) -> Any:
    """A section of the checkout's ``params.yaml``, which is the composition of ``conf/``."""
    return yaml.safe_load(_PARAMS.read_text(encoding="utf-8"))[name]
