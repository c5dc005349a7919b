"""Cases of which the fast tests try some, since each takes a part of a second."""

from collections.abc import Sequence
from typing import Any

import pytest


def every(step: int, cases: Sequence[Any]) -> list[Any]:
    """The first of each ``step`` cases among the fast tests, the others among the slow ones."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=_marks(number % step))
        for number, case in enumerate(cases)
    ]


def _marks(place: int) -> Any:
    return pytest.mark.slow if place else ()
