"""The names of metrics that the manual explains, and those that runs write."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from places import ROOT

PAGE = ROOT / "docs/reference/metrics.md"

#: Below these are names of symptoms, of libraries, and of directions: right to wrong and others.
_OPEN = {"by_symptom", "by_library", "directions"}


def explained() -> set[str]:
    """Names in the first column of the page's tables."""
    rows = re.findall(r"^\| (`.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def unexplained(project: Path) -> set[str]:
    """Names in a project's metrics that the page does not explain."""
    files = (project / "metrics").glob("*.json")
    found = {name for file in files for name in _names(json.loads(file.read_text("utf-8")))}
    return found - explained()


def _names(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name in _OPEN:
            yield name
        elif isinstance(value, dict):
            yield from _names(value)
        else:
            yield re.sub(r"^idc_\d+$", "idc_N", name)
