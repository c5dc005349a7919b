"""Names that become parts of commands, paths, git references and pages: one pattern for all.

Such a name is one word to a shell, one file or folder in a path, and plain text to HTML and to a
figure's title.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

#: Most characters, so that a file name that contains a label is not too long.
LONGEST = 64

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def is_label(text: str) -> bool:
    """Whether a text can be such a name."""
    return len(text) <= LONGEST and _LABEL.fullmatch(text) is not None


def require_label(text: str) -> str:
    """The text, if it can be such a name.

    Raises:
        ValueError: it cannot.
    """
    if not is_label(text):
        raise ValueError(
            f"{text[:LONGEST]!a} cannot be a name: use at most {LONGEST} letters from a to z, "
            "digits, '_' and '-', a letter or a digit first"
        )
    return text


#: The type of such a name.
Label = Annotated[str, AfterValidator(require_label)]
