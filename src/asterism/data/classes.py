"""Labels as numbers, and how many classes there may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError

#: Work and pages are by class. ImageNet-21k has 21,841.
MOST_CLASSES = 30_000

#: Digits of the largest label, which is an int64.
_DIGITS = 18


def as_labels(given: Sequence[int] | NDArray[np.integer], source: str) -> NDArray[np.int64]:
    """Whole numbers as int64 ``(N,)``.

    Args:
        given: of any size, at least one.
        source: where they are from, for messages.

    Raises:
        UserError: one is too large, or there are more classes than :data:`MOST_CLASSES`.
    """
    ends = (given.min(), given.max()) if isinstance(given, np.ndarray) else (min(given), max(given))
    if any(abs(int(end)) >= 10**_DIGITS for end in ends):
        raise UserError(f"{source} holds labels of more than {_DIGITS} digits")
    labels = np.asarray(given, np.int64)
    require_few(len(np.unique(labels)), source)
    return labels


def numbered(names: Sequence[str], source: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Names as numbers: those that are numbers stay what they are, others count in their order.

    Args:
        names: of classes, one for each input.
        source: where they are from, for messages.

    Returns:
        int64 ``(N,)``, and the name of each number; no names where they are numbers.

    Raises:
        UserError: as :func:`as_labels`.
    """
    different = set(names)
    if all(name.isdecimal() for name in different):
        if any(len(name) > _DIGITS for name in different):
            raise UserError(f"{source} holds labels of more than {_DIGITS} digits")
        return as_labels([int(name) for name in names], source), ()
    require_few(len(different), source)
    classes = tuple(sorted(different))
    return places_of(names, classes), classes


def places_of(names: Iterable[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """The place of each name among the classes, int64 ``(N,)``."""
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[name] for name in names], np.int64)


def require_few(classes: int, source: str) -> None:
    """Reject more classes than :data:`MOST_CLASSES`.

    Raises:
        UserError: it says how many there are.
    """
    if classes > MOST_CLASSES:
        raise UserError(f"{source} has {classes:,} classes, and the limit is {MOST_CLASSES:,}")
