"""DVC's exceptions as errors for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from asterism.core.messages.errors import UserError


@contextmanager
def errors_of_dvc(source: str = "") -> Iterator[None]:
    """Raise what DVC rejects in the block as one line.

    Args:
        source: what stands before DVC's message, such as a file's name.

    Raises:
        UserError: DVC raised any of its exceptions.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("dvc"):
            raise
        told = " ".join(str(error).split())
        raise UserError(f"{source}: {told}" if source else told) from None
