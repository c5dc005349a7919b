"""The file that stands for none: DVC's lists of dependencies need a path in any case."""

from __future__ import annotations

from pydantic import AfterValidator

#: The committed placeholder that stands for no file of the user's.
NO_FILE = "conf/no_file"


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
