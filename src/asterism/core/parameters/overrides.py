"""Values as Hydra's grammar of overrides takes them."""

from __future__ import annotations

import re


def quoted(text: str) -> str:
    """A text as Hydra's grammar takes it, whatever characters it has.

    A backslash is doubled before a quote, at the end, and before an interpolation: anywhere else
    it stands for itself.
    """
    plain = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", plain)
    return "'" + re.sub(r"(\\+)\Z", r"\1\1", escaped) + "'"
