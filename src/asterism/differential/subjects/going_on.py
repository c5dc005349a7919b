"""What was not compared, with the reason: one bad model, batch or node stops nothing else."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from asterism.core.messages.errors import UserError, telling_line

#: What was not compared, and why.
NotCompared = list[tuple[str, str]]


@contextmanager
def going_on(name: str, rejected: NotCompared) -> Iterator[None]:
    """Note why the block ended early, and go on after it.

    Args:
        name: what the block is about.
        rejected: where the reason is noted.
    """
    try:
        yield
    except UserError as error:
        rejected.append((name, str(error)))
    except Exception as error:  # whatever one strange model brings about
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {telling_line(str(error))}"
        where = f"{Path(place.filename).name}:{place.lineno}"
        rejected.append((name, f"Asterism failed at it: {said} ({where})"))


def require_some(compared: Sequence[object], rejected: NotCompared) -> None:
    """End with the reasons where nothing was left to compare.

    Raises:
        UserError: nothing was.
    """
    if rejected and not compared:
        alone = len(rejected) == 1
        raise UserError("; ".join(why if alone else f"{name}: {why}" for name, why in rejected))
