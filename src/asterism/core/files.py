"""Files of the user's, which parameters name and stages depend on.

DVC needs a path for each, also where no file is wanted.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

#: The committed placeholder that stands for no file of the user's.
NO_FILE = "conf/no_file"

File = Annotated[str, Field(min_length=1)]


def no_file(instead: str) -> AfterValidator:
    """Marks a path that has to be the placeholder, for ``Annotated``.

    Args:
        instead: the choice that reads a file, ``"rnn=file"``.
    """

    def require(path: str) -> str:
        if path != NO_FILE:
            raise ValueError(f"{path!r} is not read here: choose {instead} as well")
        return path

    return AfterValidator(require)
