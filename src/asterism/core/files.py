"""Files of the user's, which parameters name and stages depend on.

DVC needs a path for each, also where no file is wanted.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

#: The committed placeholder that stands for no file of the user's.
NO_FILE = "conf/no_file"

#: How an address begins, which DVC would ask over the network. ``./a:b`` begins as a path does.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _require_local(path: str) -> str:
    if _SCHEME.match(path) or not path.isprintable():
        raise ValueError(
            f"{path!a} is no path of a file on this machine: fetch the file, and name it by its "
            "path (./a:b where that has a colon)"
        )
    return path


#: A path on this machine, from the project's root or absolute.
File = Annotated[str, Field(min_length=1), AfterValidator(_require_local)]


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
