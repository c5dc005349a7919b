"""Values as Hydra's grammar of overrides takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def quoted(text: str) -> str:
    """A text as Hydra's grammar takes it, whatever characters it has.

    A backslash is doubled before a quote, at the end, and before an interpolation: anywhere else
    it stands for itself.
    """
    plain = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", plain)
    return "'" + re.sub(r"(\\+)\Z", r"\1\1", escaped) + "'"


def written(value: Any) -> str:
    """A value of JSON as Hydra's grammar takes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {written(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)
