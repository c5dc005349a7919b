"""Options of plug-ins that a table of tests has none for: those of ``params.yaml``."""

from typing import Any

import yaml

from places import ROOT


def section(name: str) -> Any:
    """A section of the checkout's ``params.yaml``, which is the composition of ``conf/``."""
    return yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[name]
